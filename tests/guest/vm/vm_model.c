/* The model of the arena. tests/guest/vm/vm_model.h is the contract. */
#include "tests/guest/vm/vm_model.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

static const struct vm_content fresh = {.resident = VM_ABSENT};

void vm_model_init(struct vm_region *region, int index, char *base)
{
    *region = (struct vm_region){.index = index, .base = base};
}

uint64_t *vm_word(const struct vm_region *region, int page, int word)
{
    static const unsigned offsets[VM_WORDS] = {0, 4088};

    return (uint64_t *)(vm_address(region, page) + offsets[word]);
}

struct vm_content *vm_content(struct vm_region *region, int page)
{
    struct vm_page *p = &region->pages[page];

    if (!p->shared)
        return &p->content;
    return p->offset < region->objects[p->object].size ? &region->objects[p->object].pages[p->offset] : NULL;
}

static void unmap_page(struct vm_region *region, int page)
{
    struct vm_page *p = &region->pages[page];

    if (p->mapped && p->shared)
        region->objects[p->object].mapped--;
    *p = (struct vm_page){.cut = true};
}

void vm_model_cut(struct vm_region *region, struct vm_span span)
{
    region->pages[span.first].cut = true;
    /* the page behind the region is another's, and its first in any case */
    if (span.first + span.count < VM_REGION_PAGES)
        region->pages[span.first + span.count].cut = true;
}

void vm_model_unmap(struct vm_region *region, struct vm_span span)
{
    for (int page = span.first; page < span.first + span.count; page++)
        unmap_page(region, page);
    vm_model_cut(region, span);
}

static int object_free(const struct vm_region *region)
{
    int object = 0;

    while (region->objects[object].mapped > 0)
        object++; /* there are as many as pages, and one page of ours is not mapped */
    return object;
}

void vm_model_map(struct vm_region *region, struct vm_span span, unsigned prot, bool shared, bool populated)
{
    enum vm_resident resident = populated && prot != 0 ? VM_RESIDENT : VM_ABSENT;
    int object;

    vm_model_unmap(region, span);
    object = shared ? object_free(region) : 0;
    if (shared) {
        region->objects[object].mapped = region->objects[object].size = span.count;
        for (int i = 0; i < span.count; i++) {
            region->objects[object].pages[i] = fresh;
            region->objects[object].pages[i].resident = resident;
        }
    }
    for (int i = 0; i < span.count; i++) {
        region->pages[span.first + i] = (struct vm_page){.mapped = true,
                                                         .shared = shared,
                                                         .cut = i == 0,
                                                         .prot = (uint8_t)prot,
                                                         .object = (uint8_t)object,
                                                         .offset = shared ? (uint16_t)i : 0,
                                                         .content.resident = resident};
    }
}

void vm_model_protect(struct vm_region *region, struct vm_span span, unsigned prot)
{
    for (int page = span.first; page < span.first + span.count; page++) {
        if (region->pages[page].mapped)
            region->pages[page].prot = (uint8_t)prot;
    }
    vm_model_cut(region, span);
}

void vm_model_discard(struct vm_region *region, struct vm_span span)
{
    for (int page = span.first; page < span.first + span.count; page++) {
        if (region->pages[page].mapped && !region->pages[page].shared)
            region->pages[page].content = fresh;
    }
}

void vm_model_free(struct vm_region *region, struct vm_span span)
{
    for (int page = span.first; page < span.first + span.count; page++) {
        struct vm_page *p = &region->pages[page];

        if (!p->mapped || p->shared || p->content.resident == VM_ABSENT)
            continue;
        p->content.doubt = (1u << VM_WORDS) - 1;
        p->content.settled = false;
        p->content.resident = VM_UNKNOWN;
    }
}

/* More of page P's area, COUNT pages on. */
static struct vm_page page_behind(const struct vm_page *p, int count)
{
    struct vm_page more = *p;

    more.cut = false;
    more.content = fresh;
    if (p->shared)
        more.offset = (uint16_t)(p->offset + count);
    return more;
}

void vm_model_grow(struct vm_region *region, struct vm_span span, int count)
{
    const struct vm_page *last = &region->pages[span.first + span.count - 1];

    for (int i = 1; i <= count; i++)
        region->pages[span.first + span.count - 1 + i] = page_behind(last, i);
    if (last->shared)
        region->objects[last->object].mapped += count;
    vm_model_cut(region, (struct vm_span){span.first, span.count + count});
}

void vm_model_move(struct vm_region *region, struct vm_span from, struct vm_span to)
{
    struct vm_span kept = {to.first, from.count < to.count ? from.count : to.count};

    vm_model_unmap(region, to);
    for (int i = 0; i < kept.count; i++) {
        struct vm_page *p = &region->pages[from.first + i];

        region->pages[to.first + i] = *p;
        region->pages[to.first + i].cut = false;
        if (p->shared)
            region->objects[p->object].mapped++;
    }
    vm_model_unmap(region, from);
    vm_model_cut(region, to);
    if (to.count > kept.count)
        vm_model_grow(region, kept, to.count - kept.count);
}

void vm_model_leave(struct vm_region *region, struct vm_span from, struct vm_span to)
{
    vm_model_move(region, from, to);
    for (int i = 0; i < from.count; i++) {
        region->pages[from.first + i] = region->pages[to.first + i];
        region->pages[from.first + i].content = fresh;
    }
    vm_model_cut(region, from);
}

void vm_model_duplicate(struct vm_region *region, int from, struct vm_span to)
{
    struct vm_page source = region->pages[from];

    vm_model_unmap(region, to);
    for (int i = 0; i < to.count; i++)
        region->pages[to.first + i] = page_behind(&source, i);
    region->objects[source.object].mapped += to.count;
    vm_model_cut(region, to);
}

void vm_model_fork(struct vm_region *region)
{
    for (int page = 0; page < VM_REGION_PAGES; page++) {
        struct vm_page *p = &region->pages[page];

        if (p->mapped && p->dont_fork)
            unmap_page(region, page);
        else if (p->mapped && p->wipe)
            p->content = fresh;
        p->cut = true;
        if (p->content.resident == VM_RESIDENT)
            p->content.resident = VM_UNKNOWN;
    }
}

void vm_model_forked(struct vm_region *region)
{
    for (int object = 0; object < VM_REGION_PAGES; object++) {
        for (int i = 0; i < region->objects[object].size; i++) {
            if (region->objects[object].pages[i].resident == VM_ABSENT)
                region->objects[object].pages[i].resident = VM_UNKNOWN;
        }
    }
}

int vm_mapped(const struct vm_region *region, struct vm_span span)
{
    int count = 0;

    for (int page = span.first; page < span.first + span.count; page++)
        count += region->pages[page].mapped;
    return count;
}

int vm_first_hole(const struct vm_region *region, struct vm_span span)
{
    int page = span.first;

    while (page < span.first + span.count && region->pages[page].mapped)
        page++;
    return page;
}

static bool alike(const struct vm_page *a, const struct vm_page *b)
{
    if (!a->mapped || !b->mapped || a->prot != b->prot || a->shared != b->shared || a->dont_fork != b->dont_fork ||
        a->wipe != b->wipe || a->huge != b->huge)
        return false;
    return !a->shared || (a->object == b->object && a->offset + 1 == b->offset);
}

enum vm_whole vm_whole(const struct vm_region *region, struct vm_span span)
{
    enum vm_whole whole = VM_ONE;

    if (!region->pages[span.first].mapped)
        return VM_NOT_ONE;
    for (int page = span.first + 1; page < span.first + span.count; page++) {
        if (!alike(&region->pages[page - 1], &region->pages[page]))
            return VM_NOT_ONE;
        if (region->pages[page].cut)
            whole = VM_MAYBE_ONE;
    }
    return whole;
}

struct vm_outcome vm_predict(struct vm_region *region, int page, enum vm_way way)
{
    const struct vm_page *p = &region->pages[page];
    bool by_kernel = way == VM_KERNEL_READ || way == VM_KERNEL_WRITE;
    struct vm_outcome outcome = {0};
    bool allowed = p->prot != 0; /* what may be written or executed may be read */

    if (VM_ACCESS_WRITES(way))
        allowed = (p->prot & PROT_WRITE) != 0;
    else if (way == VM_EXECUTE)
        allowed = (p->prot & PROT_EXEC) != 0;
    if (!p->mapped || !allowed) {
        outcome.signal = SIGSEGV;
        outcome.code = p->mapped ? SEGV_ACCERR : SEGV_MAPERR;
    } else if (vm_content(region, page) == NULL) {
        outcome.signal = SIGBUS;
        outcome.code = BUS_ADRERR;
    }
    if (by_kernel && outcome.signal != 0)
        outcome = (struct vm_outcome){.error = -EFAULT};
    return outcome;
}
