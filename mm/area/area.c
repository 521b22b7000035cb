/* Areas of an address space. See the header. */
#include "mm/area/area.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "mm/area/tree.h"
#include "mm/frame/heap.h"

void (*area_refers)(struct area_list *list, uint64_t backing, enum area_event event);

/* Reports that an area with BACKING was added to LIST or removed from it. */
static inline void refer(struct area_list *list, uint64_t backing, enum area_event event)
{
    if (backing_is_file(backing) && list->refers && area_refers != NULL)
        area_refers(list, backing, event);
}

static struct area *area_at(struct list *node)
{
    return container_of(node, struct area, node);
}

void area_list_init(struct area_list *list)
{
    list_init(&list->head);
    list->root = NULL;
    list->last = NULL;
    list->count = 0;
    list->locked = 0;
    list->refers = false;
    list->granted = false;
    list->follows = 0;
    list->holes = 0;
}

bool area_list_clear_some(struct area_list *list, uint32_t count)
{
    bool refers = list->refers;

    while (count-- > 0 && !list_empty(&list->head)) {
        struct area *area = area_at(list->head.next);

        list_remove(&area->node);
        refer(list, area->backing, AREA_GOES);
        heap_free(area, sizeof(*area));
    }
    if (!list_empty(&list->head))
        return false;
    area_list_init(list);
    list->refers = refers;
    return true;
}

void area_list_clear(struct area_list *list)
{
    area_list_clear_some(list, UINT32_MAX);
}

void area_list_move(struct area_list *to, struct area_list *from)
{
    bool refers = to->refers;

    area_list_clear(to);
    if (list_empty(&from->head))
        return;
    *to = *from;
    to->head.next->previous = &to->head;
    to->head.previous->next = &to->head;
    to->refers = refers;
    area_list_init(from);
    list_for_each(node, &to->head)
        refer(to, area_at(node)->backing, AREA_MOVED);
}

/* --- look-ups --- */

static inline bool has(const struct area *area, uint64_t address)
{
    return address - area->start < area->end - area->start;
}

/* Stores AREA as the area that the next look-up checks first. The list counts as unchanged, so LIST may be const. */
static inline void remember(const struct area_list *list, struct area *area)
{
    ((struct area_list *)(uintptr_t)list)->last = area;
}

struct area *area_find(const struct area_list *list, uint64_t address)
{
    struct area *area = list->last;

    if (area != NULL && has(area, address))
        return area;
    area = list->root;
    while (area != NULL) {
        if (address < area->start) {
            area = area->child[AREA_LOWER];
        } else if (address >= area->end) {
            area = area->child[AREA_HIGHER];
        } else {
            remember(list, area);
            break;
        }
    }
    return area;
}

struct area *area_next(const struct area_list *list, uint64_t address)
{
    struct area *next = NULL;

    for (struct area *area = list->root; area != NULL;) {
        if (address >= area->end) {
            area = area->child[AREA_HIGHER];
            continue;
        }
        next = area;
        if (address >= area->start)
            break;
        area = area->child[AREA_LOWER];
    }
    return next;
}

bool area_overlaps(const struct area_list *list, uint64_t start, uint64_t end)
{
    const struct area *area = area_next(list, start);

    return area != NULL && area->start < end;
}

/* AREA must be the result of area_next for START. */
static inline bool covers(const struct area_list *list, const struct area *area, uint64_t start, uint64_t end)
{
    while (start < end && area != NULL && area->start <= start) {
        start = area->end;
        area = area_after(list, area);
    }
    return start >= end;
}

bool area_covers(const struct area_list *list, uint64_t start, uint64_t end)
{
    return covers(list, area_next(list, start), start, end);
}

uint64_t area_find_gap(const struct area_list *list, uint64_t length, uint64_t low, uint64_t high)
{
    const struct area *area = area_tree_last_below(list, high);
    uint64_t floor = area != NULL && area->end > low ? area->end : low;

    if (high > floor && high - floor >= length)
        return high - length;
    area = area_tree_gap_until(area, length);
    if (area == NULL || area->start <= low)
        return 0;
    /* if LOW cuts this gap short, all remaining gaps lie below LOW */
    floor = area->start - area->gap > low ? area->start - area->gap : low;
    return area->start - floor >= length ? area->start - length : 0;
}

bool area_find_page(const struct area_list *list, uint64_t backing, uint64_t *address, uint32_t most)
{
    const struct area *area = area_next(list, *address);

    for (; area != NULL && most > 0; area = area_after(list, area), most--) {
        uint64_t at = area->start + (backing_page(backing) - backing_page(area->backing)) * PAGE_SIZE;

        if (area->backing != BACKING_NONE && backing_whole(area->backing) == backing_whole(backing) &&
            at - area->start < area->end - area->start && at >= *address) {
            *address = at;
            return true;
        }
    }
    *address = area != NULL ? area->start : UINT64_MAX;
    return false;
}

/* --- one area: protection and backing --- */

/* True if LIST may have MORE areas more. */
static bool may_have(const struct area_list *list, uint32_t more)
{
    return list->follows != 0 || list->count + more <= AREA_COUNT_MAX + list->holes;
}

/* Memory for one more area of LIST, besides COMING others. NULL: there is none, or the list may not have so many. */
static struct area *allocate(const struct area_list *list, uint32_t coming)
{
    return may_have(list, coming + 1) ? heap_alloc_unset(sizeof(struct area)) : NULL;
}

static struct area *area_make(const struct area_list *list, uint64_t start, uint64_t end, uint32_t prot,
                              uint64_t backing)
{
    struct area *area = allocate(list, 0);

    if (area != NULL) { /* the insertion sets the rest */
        area->start = start;
        area->end = end;
        area->prot = prot;
        area->backing = backing;
    }
    return area;
}

/* True when two adjacent areas can be merged. */
static inline bool alike(const struct area *low, const struct area *high)
{
    return low->prot == high->prot && high->backing == area_backing_at(low, high->start) &&
           !backing_attached(low->backing);
}

/* Gives AREA, which is in LIST, other bounds; its caller updates the tree. */
static inline void area_set_bounds(struct area_list *list, struct area *area, uint64_t start, uint64_t end)
{
    area_tally(list, area, false);
    area->start = start;
    area->end = end;
    area_tally(list, area, true);
}

/* Gives AREA, which is in LIST, the bits PROT. */
static inline void area_set_prot(struct area_list *list, struct area *area, uint32_t prot)
{
    area_tally(list, area, false);
    area->prot = prot;
    area_tally(list, area, true);
}

/* Cuts off the part of AREA, which is in no list, below AT, which lies in AREA. */
static void cut_front(struct area *area, uint64_t at)
{
    area->backing = area_backing_at(area, at);
    area->start = at;
}

/* --- changes --- */

static void area_drop(struct area_list *list, struct area *area)
{
    if (list->last == area)
        list->last = NULL;
    area_tree_remove(list, area);
    refer(list, area->backing, AREA_GOES);
    heap_free(area, sizeof(*area));
}

/* Splits AREA at AT, which lies inside it. SPARE becomes the upper part. */
static void split(struct area_list *list, struct area *area, uint64_t at, struct area *spare)
{
    *spare = *area; /* the insertion sets its links */
    cut_front(spare, at);
    area_set_bounds(list, area, area->start, at);
    area_tree_insert(list, spare, area_after(list, area));
    refer(list, spare->backing, AREA_COMES);
}

/* Merges AREA into BEFORE, the area before it. */
static __attribute__((noinline)) struct area *append(struct area_list *list, struct area *before, struct area *area)
{
    uint64_t end = area->end;

    area_drop(list, area);
    area_set_bounds(list, before, before->start, end);
    area_tree_moved(list, before);
    return before;
}

/* Merges AREA with the area before it if they are adjacent and alike. Returns the area that has AREA's addresses. */
static inline struct area *join(struct area_list *list, struct area *area)
{
    struct area *before = area_before(list, area);

    return before != NULL && before->end == area->start && alike(before, area) ? append(list, before, area) : area;
}

/* True if AREA, which is area_next for START, extends beyond [START, END) on both sides. */
static inline bool splits(const struct area *area, uint64_t start, uint64_t end)
{
    return area != NULL && area->start < start && area->end > end;
}

/* Removes [START, END) from all areas. AREA is area_next for START, and SPARE memory if it is split. Returns the first
 * area after END, or NULL. */
static struct area *carve(struct area_list *list, struct area *area, uint64_t start, uint64_t end, struct area *spare)
{
    if (spare != NULL)
        split(list, area, end, spare);
    if (area != NULL && area->start < start) {
        area_set_bounds(list, area, area->start, start);
        area_tree_moved(list, area);
        area = area_after(list, area);
    }
    while (area != NULL && area->end <= end) {
        struct area *next = area_after(list, area);

        area_drop(list, area);
        area = next;
    }
    if (area != NULL && area->start < end) {
        area->backing = area_backing_at(area, end);
        area_set_bounds(list, area, end, area->end);
        area_tree_moved(list, area);
    }
    return area;
}

int area_remove(struct area_list *list, uint64_t start, uint64_t end)
{
    struct area *area, *spare = NULL;

    if (start >= end)
        return 0;
    area = area_next(list, start);
    if (splits(area, start, end) && (spare = allocate(list, 0)) == NULL)
        return -ENOMEM;
    carve(list, area, start, end, spare);
    return 0;
}

int area_remove_reserved(struct area_list *list, uint64_t start, uint64_t end, struct area *memory)
{
    struct area *area = area_next(list, start);
    bool in_two = start < end && splits(area, start, end);

    if (in_two && !may_have(list, 1))
        return -ENOMEM;
    if (!in_two)
        area_unreserve(memory);
    if (start < end)
        carve(list, area, start, end, in_two ? memory : NULL);
    return 0;
}

int area_set_backed(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing)
{
    struct area *area, *behind, *spare = NULL;

    if (start >= end)
        return 0;
    behind = area_next(list, start);
    area = area_make(list, start, end, prot, backing);
    if (area == NULL || (splits(behind, start, end) && (spare = allocate(list, 1)) == NULL)) {
        heap_free(area, sizeof(*area));
        return -ENOMEM;
    }
    refer(list, backing, AREA_COMES);
    if (behind != NULL && behind->start < end)
        behind = carve(list, behind, start, end, spare);
    area_tree_insert(list, area, behind);
    if (behind != NULL)
        join(list, behind);
    join(list, area);
    return 0;
}

struct area *area_reserve(void)
{
    return heap_alloc_unset(sizeof(struct area));
}

void area_unreserve(struct area *area)
{
    heap_free(area, sizeof(*area));
}

bool area_set_reserved(struct area_list *list, struct area *area, uint64_t address, uint64_t start, uint64_t end,
                       uint32_t prot, uint64_t backing)
{
    struct area *behind = area_next(list, address);
    const struct area *before;

    if (behind != NULL && behind->start <= address)
        return false;
    before = behind != NULL ? area_before(list, behind) : area_last(list);
    if (before != NULL && before->end > start) {
        backing = backing_at(backing, (int64_t)(before->end - start));
        start = before->end;
    }
    if (behind != NULL && behind->start < end)
        end = behind->start;
    *area = (struct area){.start = start, .end = end, .prot = prot, .backing = backing};
    refer(list, backing, AREA_COMES);
    area_tree_insert(list, area, behind);
    if (behind != NULL)
        join(list, behind);
    join(list, area);
    return true;
}

bool area_grow_together(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing)
{
    struct area *area = area_next(list, start), *next;

    if (area == NULL || area->start >= end)
        return false;
    while ((next = area_after(list, area)) != NULL && next->start < end)
        append(list, area, next);
    if (area->start >= start)
        area->backing = backing;
    area_set_prot(list, area, prot);
    area_set_bounds(list, area, area->start < start ? area->start : start, area->end > end ? area->end : end);
    area_tree_moved(list, area);
    next = area_after(list, area);
    if (next != NULL)
        join(list, next);
    join(list, area);
    return true;
}

int area_append_backed(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing)
{
    struct area *area;

    if (start >= end || area_next(list, start) != NULL)
        return -EINVAL;
    area = area_make(list, start, end, prot, backing);
    if (area == NULL)
        return -ENOMEM;
    refer(list, backing, AREA_COMES);
    area_tree_insert(list, area, NULL);
    join(list, area);
    return 0;
}

/* The area that END would split, among AREA and the areas after it, or NULL if END lies inside none of them. */
static struct area *cut_at(const struct area_list *list, struct area *area, uint64_t end)
{
    if (area != NULL && area->end < end)
        area = area_find(list, end);
    return area != NULL && area->start < end && area->end > end ? area : NULL;
}

/* Memory for a split: *SPARE, unless it is gone or SPARE is NULL. COMING: as for allocate. */
static struct area *take_spare(const struct area_list *list, uint32_t coming, struct area **spare)
{
    struct area *taken = spare != NULL ? *spare : NULL;

    if (taken == NULL)
        return allocate(list, coming);
    *spare = NULL;
    return taken;
}

int area_spares_take(struct area_spares *spares, const struct area_list *list, uint64_t start, uint64_t end)
{
    struct area *area = area_next(list, start);
    uint32_t splits = (area != NULL && area->start < start && area->end > start) + (cut_at(list, area, end) != NULL);

    if (splits != 0 && !may_have(list, splits))
        return -ENOMEM;
    spares->low = heap_alloc_unset(sizeof(struct area));
    spares->high = heap_alloc_unset(sizeof(struct area));
    if (spares->low != NULL && spares->high != NULL)
        return 0;
    area_spares_drop(spares);
    return -ENOMEM;
}

void area_spares_drop(struct area_spares *spares)
{
    heap_free(spares->low, sizeof(*spares->low));
    heap_free(spares->high, sizeof(*spares->high));
    *spares = (struct area_spares){NULL, NULL};
}

/* In the parts of areas within [START, END), clears all bits but KEEP and then sets the bits ADD. AREA must be the
 * result of area_next for START. -ENOMEM: unchanged. */
static int change(struct area_list *list, struct area *area, uint64_t start, uint64_t end, uint32_t keep, uint32_t add,
                  struct area_spares *spares)
{
    struct area *last, *low = NULL, *high = NULL;

    if (start >= end || area == NULL)
        return 0;
    last = cut_at(list, area, end);
    if (area->start < start && (low = take_spare(list, 0, spares != NULL ? &spares->low : NULL)) == NULL)
        return -ENOMEM;
    if (last != NULL && (high = take_spare(list, low != NULL, spares != NULL ? &spares->high : NULL)) == NULL) {
        heap_free(low, sizeof(*low));
        return -ENOMEM;
    }
    if (last != NULL)
        split(list, last, end, high);
    if (low != NULL) {
        split(list, area, start, low);
        area = low;
    }
    while (area != NULL && area->start < end) {
        area_set_prot(list, area, (area->prot & keep) | add);
        area = area_after(list, join(list, area));
    }
    if (area != NULL)
        join(list, area);
    return 0;
}

int area_protect_part(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot, struct area_spares *spares)
{
    return change(list, area_next(list, start), start, end, AREA_KEPT, prot & AREA_PROT, spares);
}

int area_protect_known(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot)
{
    return area_protect_part(list, start, end, prot, NULL);
}

int area_protect(struct area_list *list, uint64_t start, uint64_t end, uint32_t prot)
{
    struct area *first = area_next(list, start);

    return covers(list, first, start, end) ? change(list, first, start, end, AREA_KEPT, prot & AREA_PROT, NULL)
                                           : -ENOMEM;
}

int area_flag_part(struct area_list *list, uint64_t start, uint64_t end, uint32_t set, uint32_t clear,
                   struct area_spares *spares)
{
    return change(list, area_next(list, start), start, end, ~(clear & AREA_KEPT), set & AREA_KEPT, spares);
}

int area_flag(struct area_list *list, uint64_t start, uint64_t end, uint32_t set, uint32_t clear)
{
    return area_flag_part(list, start, end, set, clear, NULL);
}
