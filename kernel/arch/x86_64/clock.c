/* Time from the time stamp counter. See the header. */
#include "kernel/arch/x86_64/clock.h"

#include <stdbool.h>

#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/base/instructions.h"

#define PIT_HZ 1193182u
#define PIT_CHANNEL2 0x42
#define PIT_COMMAND 0x43
#define PIT_GATE 0x61
#define PIT_MEASURE (PIT_HZ / 100) /* 10 ms */
#define RTC_INDEX 0x70
#define RTC_DATA 0x71

static uint64_t tsc_base;         /* [i] */
static uint64_t tsc_multiplier;   /* [i] nanoseconds per count, 32.32 fixed point */
static volatile uint64_t epoch;   /* [a] nanoseconds */
static volatile uint64_t advance; /* [a] nanoseconds added so that time never goes back after a move */
static struct clock_shared *all;  /* [i] NULL until clock_share */

void (*clock_found_difference)(void);

#define COMPARISONS 500
#define MEASURES_A_SECOND 100u
#define MEASURES 50      /* at most, of the rates */
#define EXACT_ENOUGH 100 /* one part in so many may be uncertain */

static uint8_t rtc_register(uint8_t index)
{
    outb(RTC_INDEX, index);
    return inb(RTC_DATA);
}

static unsigned from_bcd(unsigned value)
{
    return (value >> 4) * 10 + (value & 15);
}

/* Seconds since 1970 of the battery clock (MC146818), read until two readings agree. */
static uint64_t rtc_read(void)
{
    static const uint16_t days_before[12] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    static const uint8_t index[6] = {0, 2, 4, 7, 8, 9}; /* second minute hour day month year */
    unsigned v[6] = {0}, last[6] = {0};
    bool same = false;
    uint64_t year, days;

    for (int tries = 0; tries < 1000 && !same; tries++) {
        same = (rtc_register(0xa) & 0x80) == 0;
        for (int i = 0; i < 6; i++) {
            v[i] = rtc_register(index[i]);
            same = same && v[i] == last[i];
            last[i] = v[i];
        }
    }
    if ((rtc_register(0xb) & 4) == 0) {
        bool afternoon = (v[2] & 0x80) != 0;

        for (int i = 0; i < 6; i++)
            v[i] = from_bcd(i == 2 ? v[i] & 0x7f : v[i]);
        if ((rtc_register(0xb) & 2) == 0)
            v[2] = v[2] % 12 + (afternoon ? 12 : 0);
    }
    if (v[4] < 1 || v[4] > 12)
        return 0;
    year = 2000 + v[5];
    days = (year - 1970) * 365 + (year - 1969) / 4 + days_before[v[4] - 1] + v[3] - 1;
    if (year % 4 == 0 && v[4] > 2)
        days++;
    return ((days * 24 + v[2]) * 60 + v[1]) * 60 + v[0];
}

/* One measurement of the rates against the PIT, channel 2. Returns the counts by which its ends are uncertain: an
 * emulator's CPU may lose its host's for any time between two instructions. */
static uint64_t measure(struct clock_rates *rates)
{
    uint64_t before = rdtsc(), begin, look, last;
    uint32_t apic;

    outb(PIT_COMMAND, 0xb0); /* channel 2, two bytes, mode 0 */
    outb(PIT_CHANNEL2, PIT_MEASURE & 0xff);
    outb(PIT_CHANNEL2, PIT_MEASURE >> 8);
    apic_timer_start_raw();
    begin = last = rdtsc();
    do {
        cpu_pause();
        look = last;
        last = rdtsc();
    } while ((inb(PIT_GATE) & 0x20) == 0);
    apic = apic_timer_read_raw();
    last = rdtsc();
    rates->tsc_hz = (last - begin) * MEASURES_A_SECOND;
    rates->apic_hz = (uint64_t)(0xffffffffu - apic) * MEASURES_A_SECOND;
    rates->tsc_base = begin;
    return begin - before + last - look;
}

void clock_calibrate(struct clock_rates *rates)
{
    uint64_t least = UINT64_MAX;

    outb(PIT_GATE, (uint8_t)((inb(PIT_GATE) & ~2u) | 1u)); /* speaker off, gate on */
    for (int i = 0; i < MEASURES && least > rates->tsc_hz / MEASURES_A_SECOND / EXACT_ENOUGH; i++) {
        struct clock_rates measured;
        uint64_t uncertain = measure(&measured);

        if (uncertain < least) {
            *rates = measured;
            least = uncertain;
        }
    }
    rates->epoch = rtc_read() * 1000000000ull;
}

void clock_init(const struct clock_rates *rates)
{
    uint64_t hz = rates->tsc_hz > 1000000 ? rates->tsc_hz : 1000000;

    tsc_base = rates->tsc_base;
    tsc_multiplier = (1000000000ull << 32) / hz;
    epoch = rates->epoch;
    apic_timer_set_rate(rates->apic_hz);
}

uint64_t clock_counts_to_ns(uint64_t counts)
{
    return (uint64_t)((unsigned __int128)counts * tsc_multiplier >> 32);
}

static uint64_t raw_now(void)
{
    uint64_t now = rdtsc();

    if (now < tsc_base)
        return 0; /* this CPU's counter lags behind the one that set the base */
    return clock_counts_to_ns(now - tsc_base);
}

uint64_t clock_now(void)
{
    return raw_now() + __atomic_load_n(&advance, __ATOMIC_RELAXED);
}

uint64_t clock_read(void)
{
    uint64_t now = clock_now();
    uint64_t seen;

    if (!clock_differs())
        return now;
    seen = __atomic_load_n(&all->seen, __ATOMIC_SEQ_CST);
    while (seen < now) {
        if (__atomic_compare_exchange_n(&all->seen, &seen, now, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return now;
    }
    return seen;
}

uint64_t clock_epoch(void)
{
    return __atomic_load_n(&epoch, __ATOMIC_RELAXED);
}

void clock_set_epoch(uint64_t nanoseconds)
{
    __atomic_store_n(&epoch, nanoseconds, __ATOMIC_RELAXED);
}

void clock_conversion(uint64_t *base, uint64_t *multiplier)
{
    *base = tsc_base;
    *multiplier = tsc_multiplier;
}

void clock_share(struct clock_shared *shared, uint64_t lag)
{
    all = shared;
    tsc_base += ((lag & UINT32_MAX) << 32) / tsc_multiplier;
}

bool clock_differs(void)
{
    return all != NULL && __atomic_load_n(&all->differ, __ATOMIC_RELAXED) != 0;
}

void clock_compare(void)
{
    uint64_t seen, now;

    if (all == NULL)
        return;
    seen = __atomic_load_n(&all->seen, __ATOMIC_SEQ_CST);
    now = raw_now(); /* after the load: rdtsc is ordered */
    if (now < seen)
        __atomic_store_n(&all->differ, 1u, __ATOMIC_SEQ_CST);
    while (seen < now) {
        if (__atomic_compare_exchange_n(&all->seen, &seen, now, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            break;
    }
}

void clock_compare_all(void)
{
    for (int i = 0; i < COMPARISONS; i++)
        clock_compare();
    __atomic_fetch_add(&all->rounds, 1u, __ATOMIC_SEQ_CST);
}

void clock_advance_to(uint64_t nanoseconds)
{
    uint64_t now = raw_now();
    uint64_t old = __atomic_load_n(&advance, __ATOMIC_RELAXED);

    if (now + old >= nanoseconds)
        return;
    while (now + old < nanoseconds) {
        if (__atomic_compare_exchange_n(&advance, &old, nanoseconds - now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            break;
    }
    if (all != NULL && __atomic_exchange_n(&all->differ, 1u, __ATOMIC_SEQ_CST) == 0 && clock_found_difference != NULL)
        clock_found_difference();
}
