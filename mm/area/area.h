/* Areas: the ranges of an address space that a program may access, with their protection (Linux calls them VMAs). A
 * sorted list with a balanced tree over it (mm/area/tree.h), independent of hardware; the caller holds the lock that
 * protects it. All addresses are multiples of the page size, except those that are only looked up. With N areas a
 * look-up costs O(log N), and a change O(log N) for each area that it touches. Changing an empty range does nothing.
 * Nothing here waits. */
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
/* Properties other than protection. They survive a change of protection. */
#define AREA_SHARED 8u         /* a fork shares the pages instead of copying them (MAP_SHARED) */
#define AREA_GROWS 0x10u       /* grows down when the page below is touched (MAP_GROWSDOWN) */
#define AREA_NORESERVE 0x20u   /* no commit charge (MAP_NORESERVE) */
#define AREA_HUGE 0x40u        /* large pages are wanted (MADV_HUGEPAGE) */
#define AREA_NO_HUGE 0x80u     /* large pages are not wanted (MADV_NOHUGEPAGE) */
#define AREA_DONTFORK 0x100u   /* a fork's child does not get it (MADV_DONTFORK) */
#define AREA_WIPEONFORK 0x200u /* a fork's child finds zeros in it (MADV_WIPEONFORK) */
#define AREA_LOCKED 0x400u     /* its pages are allocated before they are touched, and are not reclaimed (mlock) */
#define AREA_MOVING 0x800u     /* the source or destination of a move under way (mm/change/remap.md) */
/* Not a bit of areas, but of queries about them: the area maps a file. */
#define AREA_BACKED 0x1000u
/* Its pages were in memory of a kernel that has died (kernel/machine/death.md): every access fails. A bit of areas. */
#define AREA_LOST 0x2000u
/* The number of a policy (mm/mempolicy/mempolicy.h), or 0. It survives a change of protection, too. */
#define AREA_POLICY_SHIFT 16
#define AREA_POLICY 0xff0000u
/* All that an area may have. */
#define AREA_BITS (0xfffu | AREA_LOST | AREA_POLICY)
/* A fork does not copy the pages of an area with one of these. */
#define AREA_NOT_COPIED (AREA_DONTFORK | AREA_WIPEONFORK)
#define AREA_KEPT (~AREA_PROT)

struct area {
    struct list node; /* in order of addresses */
    uint64_t start;   /* first byte */
    uint64_t end;     /* first byte after the area */
    uint32_t prot;    /* AREA_*; without any right, the range is reserved and no access is allowed */
    uint64_t backing; /* of its first page */
    /* Maintained by mm/area/tree.c: */
    uint32_t height;       /* of the subtree; 1: no children */
    struct area *parent;   /* NULL: the root */
    struct area *child[2]; /* lower and higher addresses; NULL: none */
    uint64_t gap;          /* free bytes before the area, back to the previous area or to address 0 */
    uint64_t widest;       /* the greatest gap in the subtree */
};

/* The backing of the page at ADDRESS, which lies in AREA. */
static inline uint64_t area_backing_at(const struct area *area, uint64_t address)
{
    return backing_at(area->backing, (int64_t)(address - area->start));
}

/* True when PROT allows ACCESS (AREA_*). x86 cannot forbid reading what may be written or executed. */
static inline bool area_allows(uint32_t prot, uint32_t access)
{
    if ((prot & (AREA_WRITE | AREA_EXEC)) != 0)
        prot |= AREA_READ;
    return ((access | AREA_LOST) & ~(prot ^ AREA_LOST)) == 0;
}

#define AREA_COUNT_MAX 65530u /* of a space: vm.max_map_count */

struct area_list {
    struct list head;  /* ascending, disjoint; adjacent areas that are alike are merged, except attached ones */
    struct area *root; /* NULL: no areas */
    struct area *last; /* a cache: the area that area_find found last, or NULL */
    uint32_t count;
    uint64_t locked;  /* bytes of the areas that have AREA_LOCKED */
    bool refers;      /* area_refers is called for its areas */
    uint32_t follows; /* changes under way that another kernel, which has all areas, has decided on: as that enforces
                         AREA_COUNT_MAX, this list may have more */
    uint32_t holes;   /* ranges at the most that are cut out of these areas, although the program has not: as each may
                         make one area more, this list may have that many more */
    bool granted;     /* the next area added comes with a grant of its object (mm/file/hold.h), which clears this */
};

enum area_event { AREA_GOES, AREA_COMES, AREA_MOVED /* from another list to this one */ };

/* [i] Called when an area with BACKING is added to or removed from LIST, if the list has REFERS set; never waits. NULL:
 * no callback. */
extern void (*area_refers)(struct area_list *list, uint64_t backing, enum area_event event);
/* Enables area_refers for LIST. The caller has already counted the areas that LIST has now. */
static inline void area_list_refers(struct area_list *list)
{
    list->refers = true;
}

void area_list_init(struct area_list *list);
void area_list_clear(struct area_list *list);
/* The same for up to COUNT areas. Returns true when none are left; until then LIST must not be used for anything else.
 */
bool area_list_clear_some(struct area_list *list, uint32_t count);
/* Replaces the areas of TO by those of FROM, which is empty afterwards. If TO has REFERS set, area_refers is called for
 * its old areas (AREA_GOES) and for the new ones (AREA_MOVED). */
void area_list_move(struct area_list *to, struct area_list *from);

/* The next and the previous area in order of addresses, or NULL. */
static inline struct area *area_after(const struct area_list *list, const struct area *area)
{
    return area->node.next != &list->head ? container_of(area->node.next, struct area, node) : NULL;
}

static inline struct area *area_before(const struct area_list *list, const struct area *area)
{
    return area->node.previous != &list->head ? container_of(area->node.previous, struct area, node) : NULL;
}

/* The area with the highest addresses, or NULL. */
static inline struct area *area_last(const struct area_list *list)
{
    return list->count != 0 ? container_of(list->head.previous, struct area, node) : NULL;
}

/* The area that contains ADDRESS, or NULL. */
struct area *area_find(const struct area_list *list, uint64_t address);
/* The area that contains ADDRESS or else the first area above it, or NULL. */
struct area *area_next(const struct area_list *list, uint64_t address);
/* True when some area overlaps [START, END). */
bool area_overlaps(const struct area_list *list, uint64_t start, uint64_t end);
/* Makes [START, END) an area with PROT and BACKING, replacing whatever was there, and merges it with equal neighbours.
 * -ENOMEM: unchanged. */
int area_set_backed(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing);
static inline int area_set(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot)
{
    return area_set_backed(list, start, end, prot, BACKING_NONE);
}
/* area_reserve allocates memory for an area, or returns NULL. area_set_reserved makes the part of [START, END) around
 * ADDRESS that is in no area an area with PROT and BACKING (at its start), merged with equal neighbours. True: AREA
 * belongs to the list, or has been freed. False, and nothing has changed: an area contains ADDRESS. */
struct area *area_reserve(void);
void area_unreserve(struct area *area);
bool area_set_reserved(struct area_list *list, struct area *area, uint64_t address, uint64_t start, uint64_t end,
                       uint32_t prot, uint64_t backing);
/* Makes all of [START, END), which existing areas overlap, one area with PROT and with BACKING at START, without
 * allocating memory. False, and nothing has changed: no area overlaps it. */
bool area_grow_together(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing);
/* Adds an area above all others. -EINVAL: the range is empty, or an area ends above START; -ENOMEM. */
int area_append_backed(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing);
static inline int area_append(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot)
{
    return area_append_backed(list, start, end, prot, BACKING_NONE);
}
/* Removes [START, END) from all areas. -ENOMEM, and unchanged, which can happen only when one area becomes two. */
int area_remove(struct area_list *list, uint64_t start, uint64_t end);
/* The same with MEMORY for the split, from area_reserve: it belongs to the list, or has been freed. -ENOMEM: the list
 * would have more than AREA_COUNT_MAX areas; unchanged. */
int area_remove_reserved(struct area_list *list, uint64_t start, uint64_t end, struct area *memory);
/* Gives [START, END) the protection PROT, of which only the bits of AREA_PROT count; the bits of AREA_KEPT stay.
 * -ENOMEM, and unchanged, when part of it is in no area (as Linux's mprotect) or memory runs out. */
int area_protect(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot);
/* As area_protect, for those parts that are in an area; parts in no area are skipped. */
int area_protect_known(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot);
/* Clears the bits CLEAR and then sets the bits SET in those parts of [START, END) that are in an area. Only the bits of
 * AREA_KEPT count. -ENOMEM: unchanged. */
int area_flag(struct area_list *list, uint64_t start, uint64_t end, uint32_t set, uint32_t clear);
/* Memory for the splits at the two ends of a range whose areas are changed in several parts, between which others may
 * change the list elsewhere. Starts as {0}. area_spares_take gets it for [START, END); -ENOMEM: there is none, or the
 * splits would make more than AREA_COUNT_MAX areas. area_spares_drop frees what is left. */
struct area_spares {
    struct area *low, *high;
};
int area_spares_take(struct area_spares *spares, const struct area_list *list, uint64_t start, uint64_t end);
void area_spares_drop(struct area_spares *spares);
/* As area_protect_known and area_flag, for a part of that range: the first one begins at START, and each further one
 * where the one before has ended, or where an area that has grown over that place begins (area_part_from); the end of
 * each but the last is the start of an area. They cannot fail then. SPARES may be NULL. */
int area_protect_part(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot, struct area_spares *spares);
int area_flag_part(struct area_list *list, uint64_t start, uint64_t end, uint32_t set, uint32_t clear,
                   struct area_spares *spares);
/* Where the part behind one that has ended at AT begins. An area that is on both sides of AT is the part before with
 * what is alike behind it, or the area behind it, to which somebody has added before AT: so it is changed as a whole.
 */
static inline uint64_t area_part_from(const struct area_list *list, uint64_t at)
{
    const struct area *area = area_find(list, at);

    return area != NULL ? area->start : at;
}
/* True when areas cover all of [START, END). Takes one step per area in the range besides the look-up. */
bool area_covers(const struct area_list *list, uint64_t start, uint64_t end);
/* Sets *ADDRESS to the first address from there on at which an area maps the page of an object that BACKING names (its
 * flags do not count). False: there is none among the next MOST areas; *ADDRESS is where to go on, or UINT64_MAX: there
 * are no more. */
bool area_find_page(const struct area_list *list, uint64_t backing, uint64_t *address, uint32_t most);
/* The highest free range of LENGTH bytes within [LOW, HIGH), or 0. */
uint64_t area_find_gap(const struct area_list *list, uint64_t length, uint64_t low, uint64_t high);

#endif
