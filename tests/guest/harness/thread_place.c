/* Places for threads without the C library. See the header. */
#include "tests/guest/harness/thread_place.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

static int count, places[64];
static bool kettle;

void thread_places_find(void)
{
    cpu_set_t all;

    count = 0;
    kettle = tap_on_kettle();
    if (kettle) {
        count = tap_kernels(places);
        return;
    }
    sched_getaffinity(0, sizeof(all), &all);
    for (int cpu = 0; cpu < 64; cpu++) {
        if (CPU_ISSET(cpu, &all))
            places[count++] = cpu;
    }
}

int thread_places(void)
{
    return count;
}

void thread_place_go(int place)
{
    uint64_t one = 1ull << places[place % count];

    if (kettle)
        thread_move(places[place % count]);
    else
        x86_syscall3(SYS_sched_setaffinity, 0, sizeof(one), (long)&one);
}
