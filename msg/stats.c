/* Time stamps and counters. See the header. */
#include "msg/stats.h"

#include "kernel/arch/x86_64/clock.h"

#define AHEAD_MAX (1ull << 40) /* ticks, which are hours: the counter of no correct peer is that far ahead */

struct msg_stats msg_stats;
struct msg_sent msg_sent[MSG_ROWS];
volatile uint64_t msg_clock;

uint64_t msg_clock_tick_several(void)
{
    uint64_t last = __atomic_load_n(&msg_clock, __ATOMIC_RELAXED);
    uint64_t now;

    do {
        now = msg_ticks();
        if (now <= last)
            now = last + 1;
    } while (!__atomic_compare_exchange_n(&msg_clock, &last, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return now;
}

void msg_clock_behind(uint64_t time, uint64_t now)
{
    uint64_t last = __atomic_load_n(&msg_clock, __ATOMIC_RELAXED);

    if (time > now && time - now > AHEAD_MAX) {
        msg_stats.bad_time++;
        return;
    }
    while (last < time &&
           !__atomic_compare_exchange_n(&msg_clock, &last, time, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

void msg_sent_several(uint16_t row, uint64_t bytes)
{
    __atomic_fetch_add(&msg_sent[row].count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&msg_sent[row].bytes, bytes, __ATOMIC_RELAXED);
}

uint64_t msg_histogram_quantile(const struct msg_histogram *histogram, uint32_t part)
{
    uint64_t total = 0, rank, sum = 0;

    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        total += histogram->count[i];
    rank = (total * part + 999) / 1000;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS && rank > 0; i++) {
        uint32_t shift = i / 4;
        uint64_t low = ((uint64_t)(4 + i % 4) << shift) - 4;
        uint64_t middle = low + ((1ull << shift) - 1) / 2;

        sum += histogram->count[i];
        if (sum >= rank)
            return middle < histogram->most ? middle : histogram->most;
    }
    return 0;
}

uint64_t msg_ticks_to_ns(uint64_t ticks)
{
    return clock_counts_to_ns(ticks << MSG_TICK_SHIFT);
}
