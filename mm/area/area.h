/* Areas: the ranges of an address space that a program may touch, and how (Linux calls them VMAs). A sorted list with a
 * balanced tree over it (mm/area/tree.h), free of hardware; the caller holds the lock that protects it. All addresses
 * are multiples of the page size, but those that are only looked up. What N areas cost: a look-up, O(log N); a change,
 * O(log N) for each area that it touches. A change of an empty range is none. Nothing here waits. */
#ifndef MM_AREA_AREA_H
#define MM_AREA_AREA_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "mm/area/backing.h"

/* As Linux's PROT_*. */
#define AREA_READ 1u
#define AREA_WRITE 2u
#define AREA_EXEC 4u
#define AREA_PROT 7u
/* Not a protection: what else was asked for. Survives a change of protection. */
#define AREA_SHARED 8u         /* a fork shares the pages instead of copying them (MAP_SHARED) */
#define AREA_GROWS 0x10u       /* is to grow down when the page below is touched (MAP_GROWSDOWN) */
#define AREA_NORESERVE 0x20u   /* no memory is to be promised for it (MAP_NORESERVE) */
#define AREA_HUGE 0x40u        /* large pages are wanted (MADV_HUGEPAGE) */
#define AREA_NO_HUGE 0x80u     /* large pages are not wanted (MADV_NOHUGEPAGE) */
#define AREA_DONTFORK 0x100u   /* a child is not to have it (MADV_DONTFORK) */
#define AREA_WIPEONFORK 0x200u /* a child is to find zeros in it (MADV_WIPEONFORK) */
#define AREA_LOCKED 0x400u     /* pages are there before they are touched, and are not to be let go of (mlock) */
#define AREA_MOVING 0x800u     /* is being moved elsewhere, or comes from elsewhere (mm/change/remap.md) */
/* Not a bit of areas, but of what is asked about them: a file is behind it. */
#define AREA_BACKED 0x1000u
/* The number of a policy (mm/mempolicy/mempolicy.h), or 0: also kept. */
#define AREA_POLICY_SHIFT 16
#define AREA_POLICY 0xff0000u
/* All that an area may have. */
#define AREA_BITS (0xfffu | AREA_POLICY)
/* A fork leaves the pages alone. */
#define AREA_NOT_COPIED (AREA_DONTFORK | AREA_WIPEONFORK)
#define AREA_KEPT (~AREA_PROT)

struct area {
    struct list node; /* in order of addresses */
    uint64_t start;   /* first byte */
    uint64_t end;     /* behind the last byte */
    uint32_t prot;    /* AREA_*; no right at all reserves the range and allows nothing */
    uint64_t backing; /* what is behind its first page */
    /* Of mm/area/tree.c: */
    uint32_t height;       /* of the subtree; 1: no children */
    struct area *parent;   /* NULL: the root */
    struct area *child[2]; /* lower and higher addresses; NULL: none */
    uint64_t gap;          /* bytes from the end of the area before, or from 0, to the start */
    uint64_t widest;       /* the greatest gap in the subtree */
};

/* What is behind the page at ADDRESS, which AREA has. */
static inline uint64_t area_backing_at(const struct area *area, uint64_t address)
{
    return backing_at(area->backing, (int64_t)(address - area->start));
}

/* True when PROT allows ACCESS (AREA_*). x86 cannot forbid reading what may be written or executed. */
static inline bool area_allows(uint32_t prot, uint32_t access)
{
    if ((prot & (AREA_WRITE | AREA_EXEC)) != 0)
        prot |= AREA_READ;
    return (access & ~prot) == 0;
}

struct area_list {
    struct list head;  /* ascending, disjoint; neighbours that touch differ in prot, or in what is behind them */
    struct area *root; /* NULL: no areas */
    struct area *last; /* the one that area_find found last, or NULL: questions come in rows */
    uint32_t count;
    bool refers;  /* area_refers is told of what is behind its areas */
    bool granted; /* the first area that comes now brings a grant of its object (mm/file/hold.h), which takes this */
};

enum area_event { AREA_GOES, AREA_COMES, AREA_MOVED /* it comes from another list */ };

/* [i] An area of LIST, one of those that say so, has BACKING behind it. Called where areas change; never waits. NULL:
 * nobody wants to know. */
extern void (*area_refers)(struct area_list *list, uint64_t backing, enum area_event event);
/* From now on LIST says so; its areas are counted already. */
static inline void area_list_refers(struct area_list *list)
{
    list->refers = true;
}

void area_list_init(struct area_list *list);
void area_list_clear(struct area_list *list);
/* TO, whatever it had, gets all that FROM has, which does not tell area_refers; FROM is empty then. */
void area_list_move(struct area_list *to, struct area_list *from);

/* The neighbour of AREA behind it, or before it, or NULL. */
static inline struct area *area_after(const struct area_list *list, const struct area *area)
{
    return area->node.next != &list->head ? container_of(area->node.next, struct area, node) : NULL;
}

static inline struct area *area_before(const struct area_list *list, const struct area *area)
{
    return area->node.previous != &list->head ? container_of(area->node.previous, struct area, node) : NULL;
}

/* The one with the highest addresses, or NULL. */
static inline struct area *area_last(const struct area_list *list)
{
    return list->count != 0 ? container_of(list->head.previous, struct area, node) : NULL;
}

/* The area that holds ADDRESS, or NULL. */
struct area *area_find(const struct area_list *list, uint64_t address);
/* The first area that ends behind ADDRESS: the one that holds it or else the next one, or NULL. */
struct area *area_next(const struct area_list *list, uint64_t address);
/* True when some area lies in part in [START, END). */
bool area_overlaps(const struct area_list *list, uint64_t start, uint64_t end);
/* Makes [START, END) an area with PROT, whatever was there, and joins it with equal neighbours. BACKING: what is behind
 * it; else nothing. -ENOMEM: unchanged. */
int area_set_backed(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing);
static inline int area_set(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot)
{
    return area_set_backed(list, start, end, prot, BACKING_NONE);
}
/* Memory for an area to come, or NULL; and what it is for: as much of [START, END) around ADDRESS as is in no area
 * becomes one with PROT and BACKING (at its start), joined with equal neighbours. True: AREA is the list's, or has been
 * freed. False, and nothing has happened: an area has ADDRESS. */
struct area *area_reserve(void);
void area_unreserve(struct area *area);
bool area_set_reserved(struct area_list *list, struct area *area, uint64_t address, uint64_t start, uint64_t end,
                       uint32_t prot, uint64_t backing);
/* All of [START, END), of which some areas have a part, becomes one area with PROT and nothing behind it: they grow
 * into each other. False, and nothing has happened: no area has a part. */
bool area_grow_together(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot);
/* Adds an area behind all others. -EINVAL when that is not its place; -ENOMEM. */
int area_append_backed(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing);
static inline int area_append(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot)
{
    return area_append_backed(list, start, end, prot, BACKING_NONE);
}
/* Takes [START, END) out of all areas. -ENOMEM, and unchanged: only when one area is to become two. */
int area_remove(struct area_list *list, uint64_t start, uint64_t end);
/* Gives [START, END) the protection PROT, of which only AREA_PROT counts; what is AREA_KEPT stays. -ENOMEM, and
 * unchanged, when part of it is in no area (as Linux's mprotect) or memory runs out. */
int area_protect(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot);
/* As area_protect, for those parts that are in an area; what is not is left. */
int area_protect_known(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot);
/* Takes the bits CLEAR from those parts of [START, END) that are in an area, then gives them the bits SET; of both only
 * AREA_KEPT counts. -ENOMEM: unchanged. */
int area_flag(struct area_list *list, uint64_t start, uint64_t end, uint32_t set, uint32_t clear);
/* True when areas hold all of [START, END); one step more for each of them. */
bool area_covers(const struct area_list *list, uint64_t start, uint64_t end);
/* The highest free range of LENGTH bytes within [LOW, HIGH), or 0. */
uint64_t area_find_gap(const struct area_list *list, uint64_t length, uint64_t low, uint64_t high);

#endif
