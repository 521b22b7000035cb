/* What the arena must look like: for each page of a region whether it is mapped, how, and what is in it.
 *
 * A region is owned by one actor at a time, whose model it is. Shared memory lies in objects, as it has a size and
 * keeps its content as long as any page of it is mapped; a page names its object and its place in it, and two pages may
 * name the same. Objects are never mapped in two regions.
 *
 * All functions change or ask the model alone; the caller makes the call whose effect they describe. */
#ifndef TESTS_GUEST_VM_MODEL_H
#define TESTS_GUEST_VM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/guest/vm/vm.h"
#include "tests/guest/vm/vm_access.h"

#define VM_REGION_PAGES 128
#define VM_REGIONS 33 /* the last is the heap */
#define VM_HEAP (VM_REGIONS - 1)
#define VM_OBJECT_PAGES 16
#define VM_WORDS 2 /* words of a page that the test uses */

/* Whether a page has memory of its own, as mincore tells. */
enum vm_resident { VM_ABSENT, VM_UNKNOWN, VM_RESIDENT };

struct vm_content {
    uint64_t words[VM_WORDS];
    uint8_t resident;
    /* MADV_FREE: words that may have become zero, a bit for each. Until the page is written to the kernel may still
     * make all of it zero; then it is settled, and the next read of one of them tells about all. */
    uint8_t doubt;
    bool settled;
};

struct vm_object {
    int mapped; /* pages that name it */
    int size;
    struct vm_content pages[VM_OBJECT_PAGES];
};

struct vm_page {
    bool mapped;
    bool shared;
    bool cut; /* an area may begin here, though the page before is alike */
    uint8_t prot;
    bool dont_fork, wipe;
    uint8_t huge;              /* as advised last */
    uint8_t object;            /* shared: which, */
    uint16_t offset;           /* and which page of it; may be behind its end */
    struct vm_content content; /* private */
};

struct vm_region {
    int index;
    char *base;
    uint64_t random;
    uint64_t heap_break; /* bytes behind base; the heap only */
    struct vm_page pages[VM_REGION_PAGES];
    struct vm_object objects[VM_REGION_PAGES];
};

struct vm_span {
    int first, count;
};

/* Whether all pages of a span are in one area of the kernel: areas may join or not where the pages are alike. */
enum vm_whole { VM_NOT_ONE, VM_MAYBE_ONE, VM_ONE };

void vm_model_init(struct vm_region *region, int index, char *base);

static inline char *vm_address(const struct vm_region *region, int page)
{
    return region->base + (unsigned long)page * VM_PAGE;
}

/* The number of a region's page in the whole arena, for histories and reports. */
static inline int vm_number(const struct vm_region *region, int page)
{
    return region->index * VM_REGION_PAGES + page;
}

/* Word WORD of page PAGE. */
uint64_t *vm_word(const struct vm_region *region, int page, int word);

/* The content of a mapped page, or NULL behind the end of its object. */
struct vm_content *vm_content(struct vm_region *region, int page);

/* Fresh zero pages; what was there is gone. SHARED ones are at most VM_OBJECT_PAGES. */
void vm_model_map(struct vm_region *region, struct vm_span span, unsigned prot, bool shared, bool populated);
void vm_model_unmap(struct vm_region *region, struct vm_span span);
void vm_model_protect(struct vm_region *region, struct vm_span span, unsigned prot);
/* The private pages of SPAN that are mapped lose their content. */
void vm_model_discard(struct vm_region *region, struct vm_span span);
/* They may lose it. */
void vm_model_free(struct vm_region *region, struct vm_span span);
/* The borders of SPAN may be borders of areas from now on. */
void vm_model_cut(struct vm_region *region, struct vm_span span);
/* mremap: the pages of FROM are at TO, which does not overlap it; what TO has more is fresh, or more of the object. */
void vm_model_move(struct vm_region *region, struct vm_span from, struct vm_span to);
/* SPAN, which is in one area, has COUNT pages more behind it. */
void vm_model_grow(struct vm_region *region, struct vm_span span, int count);
/* MREMAP_DONTUNMAP: as a move to TO, as large as FROM, but FROM, which is private, stays and is empty. */
void vm_model_leave(struct vm_region *region, struct vm_span from, struct vm_span to);
/* mremap of old size 0: TO has the pages of the object of page FROM, from that on. */
void vm_model_duplicate(struct vm_region *region, int from, struct vm_span to);
/* The region becomes what a forked child has of it. */
void vm_model_fork(struct vm_region *region);
/* What a parent does not know any more after a fork. */
void vm_model_forked(struct vm_region *region);

int vm_mapped(const struct vm_region *region, struct vm_span span); /* how many pages of it */
/* The first page of SPAN that is not mapped, or its end. */
int vm_first_hole(const struct vm_region *region, struct vm_span span);
enum vm_whole vm_whole(const struct vm_region *region, struct vm_span span);

/* What an access to page PAGE must come to: the signal and its code, or an error of the kernel's access. */
struct vm_outcome vm_predict(struct vm_region *region, int page, enum vm_way way);

#endif
