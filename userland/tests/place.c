/* Places to run at. userland/tests/place.h is the contract.
 *
 * Found once, by whoever asks first, and inherited by children. CPUs of a kernel are read from /proc/kettle/plan. */
#include "userland/tests/place.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "libc/kettle.h"
#include "userland/tests/case.h"
#include "userland/tests/tap.h"

#define PLAN_SIZE 8192

static struct {
    int count;
    bool kettle;
    int kernels[PLACE_MAX];
    cpu_set_t cpus[PLACE_MAX];
    cpu_set_t all;
} places;

/* Puts the CPUs of a list such as "0-3,8" into SET. */
static void list_read(const char *text, cpu_set_t *set)
{
    for (;;) {
        char *end;
        long first = strtol(text, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;

        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET((size_t)cpu, set);
        if (*end != ',')
            return;
        text = end + 1;
    }
}

/* Finds the line "kernel K cpus LIST ..." of each place's kernel. */
static void plan_read(void)
{
    static char plan[PLAN_SIZE];
    int file = open("/proc/kettle/plan", O_RDONLY);
    size_t size = 0;
    ssize_t count;

    if (file < 0)
        return;
    while ((count = read(file, plan + size, sizeof(plan) - 1 - size)) > 0)
        size += (size_t)count;
    close(file);
    plan[size] = '\0';
    for (char *line = plan; line != NULL; line = strchr(line, '\n')) {
        char *cpus = NULL;
        long kernel;

        line += *line == '\n';
        if (strncmp(line, "kernel ", 7) != 0)
            continue;
        kernel = strtol(line + 7, &cpus, 10);
        for (int i = 0; i < places.count && strncmp(cpus, " cpus ", 6) == 0; i++) {
            if (places.kernels[i] == kernel)
                list_read(cpus + 6, &places.cpus[i]);
        }
    }
    for (int i = 0; i < places.count; i++)
        CPU_OR(&places.all, &places.all, &places.cpus[i]);
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
        CALL(kettle_migrate(places.kernels[place]));
    else
        sched_setaffinity(0, sizeof(cpu_set_t), &places.cpus[place]);
    CHECK(place_here() == place, "moved to place %d, am at %d", place, place_here());
}

void place_try(int place)
{
    places_find();
    place %= places.count;
    if (places.kettle)
        CHECK(kettle_migrate(places.kernels[place]) == 0 || errno == EINVAL, "%s", case_error(errno));
    else
        CALL(sched_setaffinity(0, sizeof(cpu_set_t), &places.cpus[place]));
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
