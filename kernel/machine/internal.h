/* Shared by the coordinator of a stop (stop.c) and the steps that every kernel performs (step.c): the payloads of
 * STOP_ORDER. STOP_LOOK and STOP_HALT have no payload; the reply to STOP_LOOK is a struct freeze_state. */
#ifndef KERNEL_MACHINE_INTERNAL_H
#define KERNEL_MACHINE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/message.h"
#include "tasks/remote/work.h"

enum stop_step {
    STEP_LEAVE = 1, /* programs may not go to KERNEL any more */
    STEP_STAY,      /* undoes STEP_LEAVE */
    STEP_DRAIN,     /* on KERNEL: order all threads away; value: how many are present */
    STEP_FREEZE,    /* begin to quiesce program threads */
    STEP_FLUSH,     /* wait until every other kernel has handled the messages sent to it */
    STEP_PREPARE,   /* on KERNEL: stage its state at SUCCESSOR and at the homes of spaces; value: 0, -EBUSY, -ENOMEM */
    STEP_DISCARD,   /* discard the staged state */
    STEP_REPLACE,   /* map the copies of KERNEL's frames in their place; cannot fail, as all that follows up to RESET */
    STEP_PUBLISH,   /* on SUCCESSOR: publish the staged state; value: 1, and 0 if it has died */
    STEP_COMMIT,    /* on KERNEL: send entries to their homes, and tell who leaves */
    STEP_SWITCH,    /* SUCCESSOR replaces KERNEL from now on; value: page table entries that name KERNEL's frames */
    STEP_RESET,     /* reset the channel to KERNEL; value: 0 or -EBUSY */
    STEP_FENCE,     /* KERNEL has died: end its epoch; value: 1 if that is to be repeated, as it was only a part */
    STEP_LOST_END,  /* end what had a part on it; value: threads left here of groups at home there */
    STEP_LOST_FREE, /* free what is here of these groups */
    STEP_LOST_LEFT, /* value: what is left of it, while programs are quiesced */
    STEP_LOST_COUNT,   /* of all LOST: count what others have open here; changes nothing. -EAGAIN: another has died */
    STEP_LOST_DROP,    /* then drop what they had open, locks and grants; value: how many opens */
    STEP_LOST_RECLAIM, /* then release the frames that they had, and forget their roles; value: how many references */
    STEP_CALLS,        /* interrupted calls begin again */
    STEP_THAW          /* threads go on */
};

struct msg_stop_order {
    uint32_t step; /* enum stop_step */
    uint32_t kernel;
    uint32_t successor;
    uint32_t pad;
    uint64_t lost; /* kernels that have died and are cleaned up together */
};

struct msg_stop_report {
    int64_t value;
};

/* What the coordinators of a stop (stop.c) and of a death (death.c) share. All wait. */
struct stop {
    struct work work;
    uint32_t kernel, successor;
    uint64_t deadline; /* ns */
    uint32_t workers;  /* work items of kernel 0 that are this coordinator itself */
    kernel_set lost;   /* see msg_stop_order */
};

struct gathered {
    int64_t worst; /* the least value, or an errno of the channel */
    int64_t sum;
    uint32_t positive; /* how many reports are */
    uint32_t kernel;   /* that of the stop, without which the others cannot go on */
    kernel_set again;  /* they have done nothing, for lack of memory */
};

/* Makes every kernel of SET perform STEP, this kernel last, but those that have died. Returns the least value of their
 * reports; *OUT (or NULL) gets all. */
int64_t stop_have_done(const struct stop *stop, enum stop_step step, kernel_set set, struct gathered *out);
/* Quiesces all programs; false after two seconds. stop_thaw lets them go on. */
bool stop_freeze_all(const struct stop *stop, kernel_set running);
/* Waits, while programs are quiesced, until no message, request or work item is left on RUNNING; false after two
 * seconds. */
bool stop_wait_quiet(const struct stop *stop, kernel_set running);
void stop_thaw(const struct stop *stop, kernel_set running);
void stop_wait_a_moment(void);
/* A stop, or a death that was asked for, begins, with a new ticket for stop_kernel_result; -EAGAIN: another is under
 * way, or a kernel has died and is not cleaned up yet, unless this CLEANS up after it. It ends with RESULT. */
int stop_ticket_begin(uint64_t *ticket, bool cleans);
void stop_ticket_end(int result);

/* Performs ORDER on this kernel and returns the value of its report. Tasks only; waits. */
int64_t stop_take_step(const struct msg_stop_order *order);
/* Registers the messages of steps. Once. */
void stop_step_init(void);

#endif
