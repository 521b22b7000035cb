/* Time: nanoseconds since boot from the time stamp counter, the same on every instance.
 *
 * The rate is measured once, by instance 0 against the 8254 timer, and passed to the others. CPUs compare their
 * counters when they start, and whenever a thread moves. If the counters differ, programs have to ask the kernel for
 * the time, and the latest time that a kernel has returned is kept in a word that all instances share. See
 * kernel/vdso/time.md. */
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

/* Measures the rates; takes 10 ms, or up to 50 times that where a busy host interrupts. The local APIC must be on. */
void clock_calibrate(struct clock_rates *rates);
/* Uses RATES from now on. Once per instance. */
void clock_init(const struct clock_rates *rates);
/* Returns nanoseconds since boot; never decreases on one instance. */
uint64_t clock_now(void);
/* Returns the time for programs: never less than a time that any instance has returned to a program. */
uint64_t clock_read(void);
/* Converts COUNTS of the time stamp counter to nanoseconds. */
uint64_t clock_counts_to_ns(uint64_t counts);
/* clock_epoch returns the nanoseconds to add to clock_now for the time since 1970; clock_set_epoch sets them
 * (clock_settime(2)). */
uint64_t clock_epoch(void);
void clock_set_epoch(uint64_t nanoseconds);
/* Returns the conversion that clock_now uses: (counter - BASE) * MULTIPLIER / 2^32. */
void clock_conversion(uint64_t *base, uint64_t *multiplier);

/* Memory that all instances share: the latest time that a CPU has noted, and whether the counters of CPUs differ.
 * clock_share is called once per instance; for tests, LAG ns are subtracted from the instance's time. */
struct clock_shared {
    volatile uint64_t seen;   /* [a] ns */
    volatile uint32_t differ; /* [a] 0 or 1; once 1 it stays */
    volatile uint32_t rounds; /* [a] CPUs that have compared their counters */
};
void clock_share(struct clock_shared *shared, uint64_t lag);
/* clock_compare checks whether this CPU's counter is behind the time that another CPU has noted, and notes its own.
 * clock_compare_all, which a CPU calls when it starts, repeats it some hundred times; the starter calls clock_compare
 * meanwhile. */
void clock_compare(void);
void clock_compare_all(void);
bool clock_differs(void);
/* Called by clock_advance_to, in any context, on the CPU that first finds that the counters differ. */
extern void (*clock_found_difference)(void); /* [i] or NULL */
/* Makes clock_now return at least NANOSECONDS from now on, the time that a thread saw on the kernel it moved from. */
void clock_advance_to(uint64_t nanoseconds);

#endif
