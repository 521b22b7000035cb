/* Places to run at. tests/guest/harness/place.h is the contract.
 *
 * Found once, by whoever asks first, and inherited by children. CPUs of a kernel are read from /proc/kettle/plan. */
#include "tests/guest/harness/place.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "userland/kernel_cpus.h"

static struct {
    int count;
    bool kettle;
    int kernels[PLACE_MAX];
    cpu_set_t cpus[PLACE_MAX];
    cpu_set_t all;
} places;

static void plan_read(void)
{
    static int kernels[KERNEL_CPUS_MAX];

    kernel_cpus_read(kernels);
    for (int i = 0; i < places.count; i++) {
        for (size_t cpu = 0; cpu < KERNEL_CPUS_MAX; cpu++) {
            if (kernels[cpu] == places.kernels[i]) {
                CPU_SET(cpu, &places.cpus[i]);
                CPU_SET(cpu, &places.all);
            }
        }
    }
}

static void places_read(void)
{
    places.kettle = tap_on_kettle();
    if (places.kettle) {
        places.count = tap_kernels(places.kernels);
        plan_read();
        return;
    }
    sched_getaffinity(0, sizeof(places.all), &places.all);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && places.count < PLACE_MAX; cpu++) {
        if (CPU_ISSET(cpu, &places.all)) {
            places.kernels[places.count] = (int)cpu;
            CPU_SET(cpu, &places.cpus[places.count++]);
        }
    }
    if (places.count == 0)
        places.count = 1;
}

static void places_find(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, places_read);
}

int place_count(void)
{
    places_find();
    return places.count;
}

int place_few(int limit)
{
    return place_count() < limit ? place_count() : limit;
}

int place_here(void)
{
    int number;

    places_find();
    number = places.kettle ? kettle_kernel() : sched_getcpu();
    for (int i = 0; i < places.count; i++) {
        if (places.kernels[i] == number)
            return i;
    }
    return 0;
}

void place_go(int place)
{
    places_find();
    place %= places.count;
    if (places.kettle)
        MUST(kettle_migrate(places.kernels[place]));
    else
        sched_setaffinity(0, sizeof(cpu_set_t), &places.cpus[place]);
    CHECK(place_here() == place, "moved to place %d, am at %d", place, place_here());
}

void place_try(int place)
{
    places_find();
    place %= places.count;
    if (places.kettle)
        CHECK(kettle_migrate(places.kernels[place]) == 0 || errno == EINVAL, "%s", tap_error(errno));
    else
        MUST(sched_setaffinity(0, sizeof(cpu_set_t), &places.cpus[place]));
}

struct place_call place_call(int place)
{
    places_find();
    place %= places.count;
    if (places.kettle)
        return (struct place_call){KETTLE_CALL_MIGRATE, {places.kernels[place]}};
    return (struct place_call){SYS_sched_setaffinity, {0, sizeof(cpu_set_t), (long)&places.cpus[place]}};
}

int place_push(pid_t tid, int place)
{
    places_find();
    return sched_setaffinity(tid, sizeof(cpu_set_t), &places.cpus[place % places.count]) == 0 ? 0 : errno;
}

bool place_reached(pid_t tid, int place)
{
    char path[64], text[512];
    const char *at;
    ssize_t size;
    int file, cpu;

    places_find();
    if (!places.kettle)
        return true;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
    file = open(path, O_RDONLY);
    if (file < 0)
        return false;
    size = read(file, text, sizeof(text) - 1);
    close(file);
    text[size > 0 ? size : 0] = '\0';
    at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 39; field++)
        at = strchr(at + 1, ' ');
    return at != NULL && sscanf(at, "%d", &cpu) == 1 && CPU_ISSET((size_t)cpu, &places.cpus[place % places.count]);
}

int place_free(pid_t tid)
{
    places_find();
    return sched_setaffinity(tid, sizeof(cpu_set_t), &places.all) == 0 ? 0 : errno;
}

int place_cpus(int place, int *first)
{
    places_find();
    place %= places.count;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &places.cpus[place])) {
            *first = (int)cpu;
            return CPU_COUNT(&places.cpus[place]);
        }
    }
    return 0;
}
