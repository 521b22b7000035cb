/* The code of [vdso], which programs call instead of system calls (vdso(7)). It runs in user mode, at any address,
 * directly behind the page of data, and has no data of its own. If it cannot compute the result it makes the system
 * call, so the result is the same either way. A bad pointer faults in the caller, as in any function. */
#include "kernel/vdso/data.h"

#include "kernel/abi/clock.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/user_call.h"

#define SECOND 1000000000ull
#define CALL_GETTIMEOFDAY 96
#define CALL_CLOCK_GETTIME 228
#define CALL_CLOCK_GETRES 229

#define BIT(clock) (1u << (clock))
/* Clocks that count from 1970, and clocks that count from boot. */
#define OF_DAY (BIT(CLOCK_REALTIME) | BIT(CLOCK_REALTIME_COARSE) | BIT(CLOCK_TAI))
#define OF_BOOT (BIT(CLOCK_MONOTONIC) | BIT(CLOCK_MONOTONIC_RAW) | BIT(CLOCK_MONOTONIC_COARSE) | BIT(CLOCK_BOOTTIME))

struct time {
    int64_t seconds;
    int64_t part; /* ns or us */
};

extern const struct vdso_data vvar __attribute__((visibility("hidden"))); /* placed by the linker script */

int __vdso_clock_gettime(int clock, struct time *time);
int __vdso_gettimeofday(struct time *time, uint32_t zone[2]);
int64_t __vdso_time(int64_t *out);
int __vdso_getcpu(uint32_t *cpu, uint32_t *node, void *unused);
int __vdso_clock_getres(int clock, struct time *time);

static inline uint64_t since_boot(void)
{
    uint64_t count = rdtsc();

    /* as clock_now; if the counters agree, none is behind the base */
    return (uint64_t)((unsigned __int128)(count - vvar.base) * vvar.multiplier >> 32);
}

static inline int is_one_of(int clock, uint32_t set)
{
    return (uint32_t)clock < 32 && (set >> clock & 1) != 0;
}

static inline int notify(int clock, struct time *time)
{
    uint64_t now;

    if (!is_one_of(clock, OF_DAY | OF_BOOT) || vvar.usable == 0)
        return (int)user_call2(CALL_CLOCK_GETTIME, (uint64_t)clock, (uint64_t)time);
    now = since_boot();
    if (is_one_of(clock, OF_DAY))
        now += vvar.epoch;
    time->seconds = (int64_t)(now / SECOND);
    time->part = (int64_t)(now % SECOND);
    return 0;
}

int __vdso_clock_gettime(int clock, struct time *time)
{
    return notify(clock, time);
}

int __vdso_gettimeofday(struct time *time, uint32_t zone[2])
{
    uint64_t now;

    if (vvar.usable == 0)
        return (int)user_call2(CALL_GETTIMEOFDAY, (uint64_t)time, (uint64_t)zone);
    if (time != 0) {
        now = since_boot() + vvar.epoch;
        time->seconds = (int64_t)(now / SECOND);
        time->part = (int64_t)(now % SECOND / 1000);
    }
    if (zone != 0)
        zone[0] = zone[1] = 0;
    return 0;
}

int64_t __vdso_time(int64_t *out)
{
    struct time now = {0, 0}; /* the system call may fail */

    notify(CLOCK_REALTIME, &now);
    if (out != 0)
        *out = now.seconds;
    return now.seconds;
}

int __vdso_getcpu(uint32_t *cpu, uint32_t *node, void *unused)
{
    uint32_t number = segment_limit(SELECTOR_CPU_NUMBER);

    (void)unused;
    if (cpu != 0)
        *cpu = number & ((1u << CPU_NUMBER_NODE_SHIFT) - 1);
    if (node != 0)
        *node = number >> CPU_NUMBER_NODE_SHIFT;
    return 0;
}

int __vdso_clock_getres(int clock, struct time *time)
{
    if (!is_one_of(clock, OF_DAY | OF_BOOT))
        return (int)user_call2(CALL_CLOCK_GETRES, (uint64_t)clock, (uint64_t)time);
    if (time != 0) {
        time->seconds = 0;
        time->part = 1;
    }
    return 0;
}

/* Linux exports the names without the prefix as well. */
#define ALSO(type, name, arguments) type name arguments __attribute__((weak, alias("__vdso_" #name)))
ALSO(int, clock_gettime, (int clock, struct time *time));
ALSO(int, gettimeofday, (struct time * time, uint32_t zone[2]));
ALSO(int64_t, time, (int64_t * out));
ALSO(int, getcpu, (uint32_t * cpu, uint32_t *node, void *unused));
ALSO(int, clock_getres, (int clock, struct time *time));
