/* The gauge of silence: for how long a CPU has run kernel code without looking for messages. Kernel code runs with
 * interrupts off, so a peer's message waits as long. Each CPU keeps the longest silence and where it ended;
 * /proc/kettle/silence shows them.
 *
 * A silence begins when a thread enters the kernel, or is switched to by the idle loop, and ends with its return to
 * user mode or the switch back. In between, the places that look for messages end it and begin the next: long
 * operations between two slices (msg/slice.h), and waits that poll. The idle loop itself only looks, so there is none
 * there. How long handlers of messages take is measured for each type of message (msg/stats.h). */
#ifndef KERNEL_ARCH_SILENCE_H
#define KERNEL_ARCH_SILENCE_H

#include "kernel/arch/x86_64/cpu.h"

/* A new silence begins; for callers that come from the idle loop or from looking for messages. */
static inline void silence_begin(void)
{
    gs_write(CPU_SILENT_SINCE, rdtsc_unordered());
}

/* The CPU looks for messages now: a silence ends and the next begins. PLACE is an address in the code that looks. */
static inline void silence_end(uint64_t place)
{
    uint64_t now = rdtsc_unordered();

    if (__builtin_expect(gs_exceeds(now, CPU_SILENT_SINCE, CPU_SILENCE_LONGEST), 0))
        silence_note(now, place);
    gs_write(CPU_SILENT_SINCE, now);
}

/* Returns the counts of the time stamp counter since the silence of this CPU began. */
static inline uint64_t silence_length(void)
{
    return rdtsc_unordered() - (uint64_t)gs_read(CPU_SILENT_SINCE);
}

/* Forgets the longest silences of all CPUs of this instance. One that ends on another CPU meanwhile may be kept. */
void silence_clear(void);

#endif
