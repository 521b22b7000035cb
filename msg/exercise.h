/* The channel exercised on purpose: for measurement, and for tests that check every message by its content. What the
 * kernel does with kettle_messages and kettle_tally (libc/kettle.h). */
#ifndef MSG_EXERCISE_H
#define MSG_EXERCISE_H

#include <stdint.h>

#include "kernel/abi/kettle.h"
#include "msg/call.h"

struct exercise {
    uint32_t operation; /* KETTLE_MESSAGES_* */
    uint32_t size;      /* bytes */
    kernel_set kernels;
    bool urgent;
    uint64_t seed;   /* 0: the content is not checked */
    uint32_t stream; /* messages of one stream are sent by one task: they arrive in order */
};

/* 0, -EINVAL for numbers that make no sense, -EAGAIN for a kernel that is not started. */
int exercise_check(const struct exercise *exercise);
/* Performs operations FIRST to FIRST + COUNT - 1; their times in ns to SAMPLES, if not NULL. Tasks only; waits for what
 * the operation waits for. Returns 0 or a negative errno. */
int exercise_run(const struct exercise *exercise, uint32_t first, uint32_t count, uint64_t *samples);
/* Waits until all that exercise_run has sent was handled. */
int exercise_flush(const struct exercise *exercise);
/* What has come from KERNEL. */
void exercise_tally(uint32_t kernel, struct kettle_tally *tally);

#endif
