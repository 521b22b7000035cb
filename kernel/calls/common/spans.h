/* Ranges of the program's memory, in the order in which an array of struct iovec lists them. */
#ifndef KERNEL_CALLS_COMMON_SPANS_H
#define KERNEL_CALLS_COMMON_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct span { /* struct iovec */
    uint64_t address, size;
};

struct spans {
    const struct span *list;
    uint32_t count;
    uint32_t index;  /* of the span that has the next byte */
    uint64_t offset; /* of the next byte in that span */
    uint64_t total;  /* bytes of all spans */
    uint32_t extra;  /* flag of a write: FILE_APPEND or 0 */
};

/* Reads the list of COUNT spans at user ADDRESS; the caller frees it with spans_free. -EINVAL: too many spans, or too
 * many bytes; -EFAULT; -ENOMEM. */
int64_t spans_take(struct spans *spans, uint64_t address, uint64_t count);
void spans_free(struct spans *spans);
/* Copies SIZE bytes between BUFFER and the spans, from their current position on; OUT: to the spans. -EFAULT: the
 * position is behind the bytes that were copied before the fault. */
int spans_move(struct spans *spans, uint8_t *buffer, uint64_t size, bool out);
/* As spans_move, but stops at the first page that cannot be accessed. Returns how many bytes were copied; -EFAULT:
 * none. */
int64_t spans_move_some(struct spans *spans, uint8_t *buffer, uint64_t size, bool out);
/* Returns how many of the next SIZE bytes can be written to the spans before the first page that cannot be written. */
uint64_t spans_reach(const struct spans *spans, uint64_t size);

#endif
