/* Whether kernels live: each one publishes a heartbeat on its board, and others look at it, without a message.
 * kernel/machine/death.md has the protocol.
 *
 * Kernel 0 watches every other kernel, and every other kernel watches kernel 0. Only the first of them that lives, the
 * deputy, asks kernel 0 by NMIs and calls the hook for it; the others look at those before them while kernel 0 is
 * silent. A watcher looks eight times in the time of the option death=, and counts only time in which it has itself
 * been running: of the time between two of its looks at most the usual one counts. Of a kernel that is silent it counts
 * the turns that its host gives it, by the NMIs that it answers: one is a turn of each of its CPUs. So a host that is
 * slow, or an emulator that stood still, is no death. */
#ifndef MSG_ALIVE_H
#define MSG_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the function that is called once for each kernel that has died, on kernel 0, and for kernel 0 on the deputy, in
 * the timer interrupt: it must not wait. WHY is a constant. Called once, before alive_start. */
void alive_init(void (*lost)(uint32_t kernel, const char *why));
/* This kernel beats, and watches, from now on, unless death=off. */
void alive_start(void);
/* Whether this machine survives the death of kernels: not with death=off. */
bool alive_survives(void);
/* On kernel 0: KERNEL, which has announced itself, is watched from now on; or not any more, as it was stopped, or its
 * death is known. */
void alive_watch(uint32_t kernel);
void alive_forget(uint32_t kernel);

/* This kernel is about to do with interrupts off what may take long, as to build another kernel and to wait for its
 * CPUs, or to write the report of its panic; or it has done so. Meanwhile it is not suspected, for at most 20 s. */
void alive_pause(bool pause);

/* Returns when the calling CPU has to call alive_tick next, as clock_now; UINT64_MAX: never. */
uint64_t alive_due(uint64_t now);
/* Called by the timer interrupt of every CPU. */
void alive_tick(uint64_t now);
/* For the wait dump, on the first CPU: writes to the log whom this kernel suspects at NOW (clock_now ns), and whether
 * it has not looked for longer than it should. The times are this watcher's own, since it suspects them. Who finds that
 * kernel 0 is dead has written the same of it then. Any context. */
void alive_dump(uint64_t now);
/* Called by an NMI. True: the watcher has sent it, or the first CPU for it, to learn whether this CPU takes interrupts
 * at all. May send such NMIs itself. */
bool alive_probed(void);

#endif
