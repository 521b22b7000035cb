/* Exercising the channel for measurements, and for tests that check every message by its content: the kernel side of
 * kettle_messages and kettle_tally (libc/kettle.h). */
#ifndef MSG_EXERCISE_H
#define MSG_EXERCISE_H

#include <stdint.h>

#include "kernel/abi/kettle.h"
#include "msg/request/call.h"

struct exercise {
    uint32_t operation; /* KETTLE_MESSAGES_* */
    uint32_t size;      /* bytes */
    kernel_set kernels;
    bool urgent;
    uint64_t seed;   /* 0: the content is not checked */
    uint32_t stream; /* one task sends the messages of a stream, so they arrive in order */
};

/* Returns 0; -EINVAL for invalid arguments; -EAGAIN if a kernel has not started. */
int exercise_check(const struct exercise *exercise);
/* Performs operations FIRST to FIRST + COUNT - 1, and stores the time of each in ns in SAMPLES, if not NULL. Tasks
 * only; waits as the operations do. Returns 0 or a negative errno. */
int exercise_run(const struct exercise *exercise, uint32_t first, uint32_t count, uint64_t *samples);
/* Waits until all messages that exercise_run has sent have been handled. */
int exercise_flush(const struct exercise *exercise);
/* Returns the counters of what has arrived from KERNEL. */
void exercise_tally(uint32_t kernel, struct kettle_tally *tally);

#endif
