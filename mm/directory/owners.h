/* Whose memory the frames are that a space's entries on this kernel name: for each block of 2 MiB, the other kernels of
 * which it may have a frame. mm/directory/directory.md has the rules. So a kernel that looks for frames of another one,
 * which has died, stops, or counts them, reads the tables of these blocks alone.
 *
 * It is a table of marks as the directory's (mm/directory/sharers.h), and never lacks one: without memory, a kernel is
 * noted for all blocks. The caller holds the lock that protects it (space->lock). */
#ifndef MM_DIRECTORY_OWNERS_H
#define MM_DIRECTORY_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "mm/directory/sharers.h"

/* An entry for PAGE is about to name a frame of KERNEL, which is another one. */
static inline void owners_note(struct sharers *owners, uint64_t page, uint32_t kernel)
{
    uint64_t block = page & ~(SHARERS_BLOCK - 1);

    if (__builtin_expect(!sharers_marked(owners, page, false, 1ull << kernel), 0))
        sharers_mark(owners, block, block + SHARERS_BLOCK, 1ull << kernel);
}

/* False: no entry of the block that PAGE is in names a frame of KERNEL, which is another one, or KERNELS_MAX: none. */
static inline bool owners_has(const struct sharers *owners, uint64_t page, uint32_t kernel)
{
    uint64_t block = page & ~(SHARERS_BLOCK - 1);

    return kernel < KERNELS_MAX && (sharers_in(owners, block, block + SHARERS_BLOCK) >> kernel & 1) != 0;
}

/* True: no entry of the space names a frame of another kernel. A quick look that may say false all the same. */
static inline bool owners_none(const struct sharers *owners)
{
    return owners->used == 0 && owners->everywhere == 0;
}

/* No entry names a frame of KERNEL any more. */
static inline void owners_forget(struct sharers *owners, uint32_t kernel)
{
    sharers_forget(owners, 1ull << kernel);
}

#endif
