/* Time stamps and counters of the channel.
 *
 * The time of messages is a hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014): the processor's
 * time stamp counter, moved ahead where Lamport's rule requires it. So it orders events as a Lamport clock does, and
 * also measures how long a message has waited. One tick is 32 counts; 48 bits last for more than a month at 3 GHz. */
#ifndef MSG_STATS_H
#define MSG_STATS_H

#include <stdint.h>

#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/instance.h"
#include "msg/message.h"

#define MSG_TICK_SHIFT 5

/* Of this many messages of a type one is measured; all are counted. */
#define MSG_SAMPLE 16u

/* Four buckets for each power of two: a percentile is at most an eighth and a tick off. */
#define HISTOGRAM_BUCKETS 184u

struct msg_histogram {
    uint64_t most;
    uint64_t count[HISTOGRAM_BUCKETS];
};

struct msg_times {
    struct msg_histogram queueing; /* ticks from sending to taking */
    struct msg_histogram handling; /* ticks in the handler */
};

/* [k] rx_lock, except for the counters of senders, which may miss some events when several CPUs send. */
struct msg_stats {
    uint64_t bad_type, bad_source, bad_length, bad_fragment, bad_loan, bad_header, bad_time, late_reply, no_memory,
        overrun;
    uint64_t doorbells_sent, polls, room_waits, room_signals, credit_waits, cancelled, timed_out;
    uint64_t relayed, looks_later;
    uint64_t late_epoch; /* slots of a kernel that has died, and messages to it, which were dropped */
};

struct msg_sent {
    uint64_t count, bytes;
};

extern struct msg_stats msg_stats;
extern struct msg_sent msg_sent[MSG_ROWS]; /* by type and reply bit */
extern volatile uint64_t msg_clock;        /* [a] the latest time that was sent, or received ahead of the counter */

uint64_t msg_clock_tick_several(void);
void msg_sent_several(uint16_t row, uint64_t bytes);

/* Returns the time stamp counter in ticks, without the logical part. */
static inline uint64_t msg_ticks(void)
{
    return (rdtsc_unordered() - instance.rates.tsc_base) >> MSG_TICK_SHIFT;
}

/* Returns a time later than every one that this kernel has sent or received; msg_clock_tick_one for an instance with
 * one CPU. */
static inline uint64_t msg_clock_tick_one(void)
{
    uint64_t now = msg_ticks();

    if (__builtin_expect(now <= msg_clock, 0))
        now = msg_clock + 1;
    msg_clock = now;
    return now;
}

static inline uint64_t msg_clock_tick(void)
{
    return cpu_several ? msg_clock_tick_several() : msg_clock_tick_one();
}

/* A message has TIME, later than NOW by this kernel's counter, or may have: moves the clock to TIME, unless that is
 * impossibly far ahead. */
void msg_clock_behind(uint64_t time, uint64_t now);

/* Returns the ticks from TIME, of which only the lower 48 bits are known, to NOW; negative if TIME is ahead. */
static inline uint64_t msg_time_since(uint64_t time, uint64_t now)
{
    return (uint64_t)((int64_t)((now - time) << 16) >> 16);
}

static inline void msg_count_sent(uint16_t row, uint64_t bytes)
{
    if (cpu_several) {
        msg_sent_several(row, bytes);
        return;
    }
    msg_sent[row].count++;
    msg_sent[row].bytes += bytes;
}

static inline void msg_histogram_add(struct msg_histogram *histogram, uint64_t value)
{
    uint64_t x = value + 4;
    uint32_t shift = (63u ^ (uint32_t)__builtin_clzll(x)) - 2;

    histogram->count[(x >> shift) + 4 * (uint64_t)shift - 4]++;
    if (value > histogram->most)
        histogram->most = value;
}

/* Returns the value below which PART of 1000 values are, from the middle of its bucket; 0 if there are none. */
uint64_t msg_histogram_quantile(const struct msg_histogram *histogram, uint32_t part);
uint64_t msg_ticks_to_ns(uint64_t ticks);

#endif
