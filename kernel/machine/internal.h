/* Shared by the coordinator of a stop (stop.c) and the steps that every kernel performs (step.c): the payloads of
 * STOP_ORDER. STOP_LOOK and STOP_HALT have no payload; the reply to STOP_LOOK is a struct freeze_state. */
#ifndef KERNEL_MACHINE_INTERNAL_H
#define KERNEL_MACHINE_INTERNAL_H

#include <stdint.h>

enum stop_step {
    STEP_LEAVE = 1, /* programs may not go to KERNEL any more */
    STEP_STAY,      /* undoes STEP_LEAVE */
    STEP_DRAIN,     /* on KERNEL: order all threads away; value: how many are present */
    STEP_FREEZE,    /* begin to quiesce program threads */
    STEP_FLUSH,     /* wait until every other kernel has handled the messages sent to it */
    STEP_PREPARE,   /* on KERNEL: stage its state at SUCCESSOR and at the homes of spaces; value: 0, -EBUSY, -ENOMEM */
    STEP_DISCARD,   /* discard the staged state */
    STEP_COMMIT,    /* on KERNEL: publish the staged state */
    STEP_SWITCH,    /* SUCCESSOR replaces KERNEL from now on; value: page table entries that name KERNEL's frames */
    STEP_RESET,     /* reset the channel to KERNEL; value: 0 or -EBUSY */
    STEP_CALLS,     /* interrupted calls begin again */
    STEP_THAW       /* threads go on */
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

/* Performs ORDER on this kernel and returns the value of its report. Tasks only; waits. */
int64_t stop_take_step(const struct msg_stop_order *order);
/* Registers the messages of steps. Once. */
void stop_step_init(void);

#endif
