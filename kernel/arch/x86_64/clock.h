/* Time: nanoseconds since boot from the time stamp counter, the same on every instance.
 *
 * The rate is measured once, by instance 0 against the 8254 timer, and handed to the others. Counters of different
 * CPUs may differ a little: clock_advance_to keeps a program's time from going backwards when it moves. */
#ifndef KERNEL_ARCH_CLOCK_H
#define KERNEL_ARCH_CLOCK_H

#include <stdint.h>

struct clock_rates {
    uint64_t tsc_hz;
    uint64_t apic_hz;  /* of the local APIC timer with our divider */
    uint64_t tsc_base; /* counter value at time 0 */
    uint64_t epoch;    /* seconds since 1970 at time 0, from the battery clock */
};

/* Measures the rates; takes about 10 ms. The local APIC must be on. */
void clock_calibrate(struct clock_rates *rates);
/* Uses RATES from now on. Once per instance. */
void clock_init(const struct clock_rates *rates);
/* Nanoseconds since boot; never goes back on one instance. */
uint64_t clock_now(void);
/* So many counts of the time stamp counter in nanoseconds. */
uint64_t clock_counts_to_ns(uint64_t counts);
/* Nanoseconds to add to clock_now for the time since 1970. */
uint64_t clock_epoch(void);
/* Makes clock_now at least NANOSECONDS from now on: what a thread that moved here has seen elsewhere. */
void clock_advance_to(uint64_t nanoseconds);

#endif
