/* Time: nanoseconds since boot from the time stamp counter, the same on every instance.
 *
 * The rate is measured once, by instance 0 against the 8254 timer, and handed to the others. CPUs compare their
 * counters when they start, and whenever a thread moves; if they differ, programs have to ask the kernel for the time,
 * which keeps what it has told in a word that all instances share. See kernel/vdso/time.md. */
#ifndef KERNEL_ARCH_CLOCK_H
#define KERNEL_ARCH_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct clock_rates {
    uint64_t tsc_hz;
    uint64_t apic_hz;  /* of the local APIC timer with our divider */
    uint64_t tsc_base; /* counter value at time 0 */
    uint64_t epoch;    /* ns since 1970 at time 0, from the battery clock */
};

/* Measures the rates; takes about 10 ms. The local APIC must be on. */
void clock_calibrate(struct clock_rates *rates);
/* Uses RATES from now on. Once per instance. */
void clock_init(const struct clock_rates *rates);
/* Nanoseconds since boot; never goes back on one instance. */
uint64_t clock_now(void);
/* The same as programs are told it: never before what any of them was told, on whatever instance. */
uint64_t clock_read(void);
/* So many counts of the time stamp counter in nanoseconds. */
uint64_t clock_counts_to_ns(uint64_t counts);
/* Nanoseconds to add to clock_now for the time since 1970, as clock_settime(2) last said; and to say so. */
uint64_t clock_epoch(void);
void clock_set_epoch(uint64_t nanoseconds);
/* How clock_now is made of the counter: (counter - BASE) * MULTIPLIER / 2^32. */
void clock_conversion(uint64_t *base, uint64_t *multiplier);

/* Two words of memory that all instances share: the latest time that anybody has read while it mattered, and whether
 * the counters of CPUs differ. Once per instance; LAG ns are taken from its time: for tests. */
struct clock_shared {
    volatile uint64_t seen;   /* [a] ns */
    volatile uint32_t differ; /* [a] 0 or 1; once 1 it stays */
    volatile uint32_t rounds; /* [a] CPUs that have compared theirs */
};
void clock_share(struct clock_shared *shared, uint64_t lag);
/* Looks whether this CPU's counter is behind what another CPU has noted, and notes its own: what a CPU that starts does
 * some hundred times, and its starter meanwhile. */
void clock_compare(void);
void clock_compare_all(void);
bool clock_differs(void);
/* Called where it is found out, once, by who brought a thread here: any context. */
extern void (*clock_found_difference)(void); /* [i] or NULL */
/* Makes clock_now at least NANOSECONDS from now on: what a thread that moved here has seen elsewhere. */
void clock_advance_to(uint64_t nanoseconds);

#endif
