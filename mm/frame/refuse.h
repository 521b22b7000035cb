/* Allocations that are refused on purpose, to test that each is survived: the boot option alloc=N refuses, on this
 * kernel, each allocation of a kernel object or a page table with a chance of 1 in N, but for those that a thread of a
 * root's program makes in its own calls. Every place in the code that has allocated since then is counted. */
#ifndef MM_FRAME_REFUSE_H
#define MM_FRAME_REFUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern volatile uint32_t refuse_rate; /* [a] N; 0: nothing is refused, and nothing counted */

bool refuse_slowly(const void *site);
/* True when the allocation whose code is at SITE is to fail. Any context. */
static inline bool refuse(const void *site)
{
    return __builtin_expect(refuse_rate != 0, 0) && refuse_slowly(site);
}

/* Registers the option. EXEMPT says whether the current task's allocations are never refused. Once, at the start. */
void refuse_init(bool (*exempt)(void));

/* Writes "kernel K FUNCTION+OFFSET at ADDRESS reached N refused M" lines, as msg_report does. ADDRESS is behind the
 * call.
 */
size_t refuse_report(char *bytes, size_t size, uint64_t *cursor);

#endif
