/* What the coordinator of a stop (stop.c) and the steps of every kernel (step.c) share: the payloads of STOP_ORDER.
 * STOP_LOOK and STOP_HALT, which handlers do, have none, but for the answer to STOP_LOOK: struct freeze_state. */
#ifndef KERNEL_MACHINE_INTERNAL_H
#define KERNEL_MACHINE_INTERNAL_H

#include <stdint.h>

enum stop_step {
    STEP_LEAVE = 1, /* programs go to KERNEL no more */
    STEP_STAY,      /* they do again */
    STEP_DRAIN,     /* KERNEL: order threads away; value: how many are present */
    STEP_FREEZE,
    STEP_FLUSH,   /* wait until every other kernel has handled what was sent to it */
    STEP_PREPARE, /* KERNEL: lay out at SUCCESSOR and at homes of spaces what it answers for; value: 0, -EBUSY, -ENOMEM
                   */
    STEP_DISCARD, /* forget that */
    STEP_COMMIT,  /* KERNEL: say that it holds */
    STEP_SWITCH,  /* SUCCESSOR is in KERNEL's place from now on; value: page table entries that name KERNEL's frames */
    STEP_RESET,   /* its channel; value: 0 or -EBUSY */
    STEP_CALLS,   /* calls that were interrupted begin again */
    STEP_THAW
};

struct msg_stop_order {
    uint32_t step; /* enum stop_step */
    uint32_t kernel;
    uint32_t successor;
    uint32_t pad;
};

struct msg_stop_report {
    int64_t value;
};

/* Does ORDER on this kernel. Its report's value. Tasks only; waits. */
int64_t stop_take_step(const struct msg_stop_order *order);
/* Registers the messages of steps. Once. */
void stop_step_init(void);

#endif
