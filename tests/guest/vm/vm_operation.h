/* Operations on a region: each makes a call or an access and compares what comes back with the model. */
#ifndef TESTS_GUEST_VM_OPERATION_H
#define TESTS_GUEST_VM_OPERATION_H

#include "tests/guest/vm/vm_model.h"

/* A random operation on a region that the calling actor owns. What it does depends on the region's random numbers and
 * its model only. */
void vm_operate(struct vm_region *region);

/* Reads every page of the region, mapped or not. */
void vm_sweep(struct vm_region *region);

/* --- for the files that define operations --- */

/* A number from 0 to BELOW - 1, the region's next. */
int vm_chance(struct vm_region *region, int below);

/* Pages of the region, MOST at most; often few, and often at its borders. */
struct vm_span vm_pick(struct vm_region *region, int most);

/* The same, and all of them mapped as often as that is found; not always. */
struct vm_span vm_pick_mapped(struct vm_region *region, int most);

/* Mappings of all kinds, with few holes, in a region that is not the heap: most calls are refused where nothing is. */
void vm_furnish(struct vm_region *region);

/* An access to page PAGE, as predicted. */
void vm_touch(struct vm_region *region, int page, enum vm_way way);

/* Notes an operation in the history of SPAN; it fails when RESULT is not EXPECTED. WHAT is a constant. */
void vm_expect(const struct vm_region *region, struct vm_span span, const char *what, uint64_t detail, long result,
               long expected);

long vm_mmap(const void *address, uint64_t length, unsigned prot, int flags);

/* True when ADDRESS may be what mmap returns for PAGES pages when it chooses the place. */
bool vm_elsewhere(long address, int pages);

/* Operations in files of their own. */
void vm_operation_shrink(struct vm_region *region);
void vm_operation_grow(struct vm_region *region);
void vm_operation_move(struct vm_region *region);
void vm_operation_leave(struct vm_region *region);
void vm_operation_duplicate(struct vm_region *region);
void vm_operation_remap_refused(struct vm_region *region);
void vm_operation_let_grow(struct vm_region *region);
void vm_operation_fork(struct vm_region *region);
void vm_operation_break(struct vm_region *region);
void vm_operation_advise(struct vm_region *region);
void vm_operation_mincore(struct vm_region *region);
void vm_operation_msync(struct vm_region *region);

#endif
