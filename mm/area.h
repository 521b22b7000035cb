/* Areas: the ranges of an address space that a program may touch, and how (Linux calls them VMAs). A sorted list, free
 * of hardware; the caller holds the lock that protects it. All addresses are multiples of the page size. */
#ifndef MM_AREA_H
#define MM_AREA_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"

/* As Linux's PROT_*. */
#define AREA_READ 1u
#define AREA_WRITE 2u
#define AREA_EXEC 4u
#define AREA_PROT 7u
/* Not a protection: a fork shares the pages instead of copying them (MAP_SHARED). Survives a change of protection. */
#define AREA_SHARED 8u

struct area {
    struct list node;
    uint64_t start; /* first byte */
    uint64_t end;   /* behind the last byte */
    uint32_t prot;  /* AREA_*; no right at all reserves the range and allows nothing */
};

/* True when PROT allows ACCESS (AREA_*). x86 cannot forbid reading what may be written or executed. */
static inline bool area_allows(uint32_t prot, uint32_t access)
{
    if ((prot & (AREA_WRITE | AREA_EXEC)) != 0)
        prot |= AREA_READ;
    return (access & ~prot) == 0;
}

struct area_list {
    struct list head; /* ascending, disjoint; neighbours that touch differ in prot */
    uint32_t count;
};

void area_list_init(struct area_list *list);
void area_list_clear(struct area_list *list);

/* The area that holds ADDRESS, or NULL. */
struct area *area_find(const struct area_list *list, uint64_t address);
/* True when some area lies in part in [START, END). */
bool area_overlaps(const struct area_list *list, uint64_t start, uint64_t end);
/* Makes [START, END) an area with PROT, whatever was there, and joins it with equal neighbours. -ENOMEM: unchanged. */
int area_set(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot);
/* Adds an area behind all others, where it belongs. -ENOMEM. */
int area_append(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot);
/* Takes [START, END) out of all areas. -ENOMEM: unchanged. */
int area_remove(struct area_list *list, uint64_t start, uint64_t end);
/* Gives [START, END) the protection PROT; what is shared stays so. -ENOMEM, and unchanged, when part of it is in no
 * area (as Linux's mprotect) or memory runs out. */
int area_protect(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot);
/* As area_protect, for those parts that are in an area; what is not is left. */
int area_protect_known(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot);
/* True when areas hold all of [START, END). */
bool area_covers(const struct area_list *list, uint64_t start, uint64_t end);
/* The highest free range of LENGTH bytes within [LOW, HIGH), or 0. */
uint64_t area_find_gap(const struct area_list *list, uint64_t length, uint64_t low, uint64_t high);

#endif
