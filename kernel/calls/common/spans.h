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
    uint32_t index;  /* of the span where the next byte is written or read */
    uint64_t offset; /* in it */
    uint64_t total;  /* bytes */
    uint32_t extra;  /* of a write: FILE_APPEND or 0 */
};

/* The list of COUNT at user ADDRESS, to be freed. -EINVAL: too many, or too many bytes; -EFAULT; -ENOMEM. */
int64_t spans_take(struct spans *spans, uint64_t address, uint64_t count);
void spans_free(struct spans *spans);
/* Copies SIZE bytes between BUFFER and the spans, from their current position on; OUT: to the spans. -EFAULT: bytes
 * that were copied before the fault count, and the position is behind them. */
int spans_move(struct spans *spans, uint8_t *buffer, uint64_t size, bool out);
/* The same, up to the first page that cannot be accessed: returns how many bytes were copied; -EFAULT: none. */
int64_t spans_move_some(struct spans *spans, uint8_t *buffer, uint64_t size, bool out);
/* How many of the next SIZE bytes can be moved to the spans, up to the first page that cannot be written. */
uint64_t spans_reach(const struct spans *spans, uint64_t size);

#endif
