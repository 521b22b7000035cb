/* test-machine: what /proc and /sys tell of the machine: loads, times of CPUs, caches, nodes; what libc makes of it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define SPINNERS 3

/* The file's text, or NULL with errno; the next call overwrites it. */
static const char *text_of(const char *path)
{
    static char text[65536];
    int fd = open(path, O_RDONLY);
    ssize_t size = 0, more = 0;

    if (fd < 0)
        return NULL;
    while ((more = read(fd, text + size, sizeof(text) - 1 - (size_t)size)) > 0)
        size += more;
    close(fd);
    if (more < 0)
        return NULL;
    text[size] = '\0';
    return text;
}

/* The number behind NAME at the beginning of a line. */
static long number_in(const char *path, const char *name)
{
    const char *text = text_of(path), *line = text;
    size_t length = strlen(name);

    while (line != NULL && strncmp(line, name, length) != 0) {
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    CHECK(line != NULL, "%s has no %s", path, name);
    return line == NULL ? -1 : strtol(line + length, NULL, 10);
}

struct times {
    long user, nice, system, idle;
};

static bool times_of(const char *cpu, struct times *out)
{
    const char *text = text_of("/proc/stat"), *line = text == NULL ? NULL : strstr(text, cpu);

    return CHECK(line != NULL && sscanf(line + strlen(cpu), " %ld %ld %ld %ld", &out->user, &out->nice, &out->system,
                                        &out->idle) == 4,
                 "no line %s", cpu);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static volatile int stop;

static void *spin(void *unused)
{
    (void)unused;
    while (!stop)
        x86_pause();
    return NULL;
}

/* --- loads --- */

static void test_load(void)
{
    double loads[3], before[3], begin = now(), started, spent, most;
    pthread_t threads[SPINNERS];
    struct times then, later;
    struct sysinfo info;
    int running, total;
    long last;

    CHECK(getloadavg(before, 3) == 3, "getloadavg");
    times_of("cpu ", &then);
    stop = 0;
    for (int i = 0; i < SPINNERS; i++)
        CHECK(pthread_create(&threads[i], NULL, spin, NULL) == 0, "thread %d", i);
    started = now();
    while (now() - started < 11)
        usleep(100000); /* the load of a minute is told only by time: a whole period of 5 s is in it */
    CHECK(sscanf(text_of("/proc/loadavg"), "%lf %lf %lf %d/%d %ld", &loads[0], &loads[1], &loads[2], &running, &total,
                 &last) == 6,
          "%s", text_of("/proc/loadavg"));
    sysinfo(&info);
    spent = now() - begin;
    stop = 1;
    for (int i = 0; i < SPINNERS; i++)
        pthread_join(threads[i], NULL);
    times_of("cpu ", &later);
    /* the last whole period ended 5 s ago at most: of the rest, the load has been SPINNERS; under Linux a moment's
     * count stands for 5 s */
    most = spent / 60 * (SPINNERS + 2);
    CHECK(loads[0] >= 0.4 && loads[0] > before[0], "1 minute: %.2f, before %.2f", loads[0], before[0]);
    CHECK(loads[0] <= before[0] + most + 1, "1 minute: %.2f after %.0f s, before %.2f", loads[0], spent, before[0]);
    CHECK(loads[1] >= 0.08 && loads[1] <= loads[0] + before[1], "5 minutes: %.2f", loads[1]);
    CHECK(loads[2] >= 0.02 && loads[2] <= loads[1] + before[2], "15 minutes: %.2f", loads[2]);
    CHECK(running >= SPINNERS && running <= total, "%d of %d run", running, total);
    CHECK((double)info.loads[0] / 65536 >= 0.4, "sysinfo tells %lu", info.loads[0]);
    CHECK(later.user - then.user >= 500, "%ld ticks in user mode", later.user - then.user);
}

static void test_last(void)
{
    char text[16];
    int fds[2];
    long last;
    pid_t child;

    if (!CHECK(pipe(fds) == 0, "%s", strerror(errno)))
        return;
    child = fork();
    if (child == 0) {
        snprintf(text, sizeof(text), "%d", getpid());
        _exit(read(fds[0], text, 1) == 1 ? 0 : 1);
    }
    CHECK(sscanf(text_of("/proc/loadavg"), "%*f %*f %*f %*d/%*d %ld", &last) == 1 && last == child, "%ld, not %d: %s",
          last, child, text_of("/proc/loadavg"));
    CHECK(write(fds[1], "", 1) == 1 && waitpid(child, NULL, 0) == child, "%s", strerror(errno));
    close(fds[0]);
    close(fds[1]);
}

/* --- CPUs --- */

static void test_stat(void)
{
    long switches = number_in("/proc/stat", "ctxt "), made = number_in("/proc/stat", "processes ");
    struct times before, after;
    double seconds, begin = now();

    for (int i = 0; i < 5; i++) {
        pid_t child = fork();

        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    CHECK(number_in("/proc/stat", "processes ") - made >= 5, "5 forks are %ld",
          number_in("/proc/stat", "processes ") - made);
    CHECK(number_in("/proc/stat", "ctxt ") - switches >= 5, "%ld switches",
          number_in("/proc/stat", "ctxt ") - switches);
    CHECK(number_in("/proc/stat", "procs_running ") >= 1, "whoever reads it runs");
    CHECK(labs(number_in("/proc/stat", "btime ") + (long)now() - (long)time(NULL)) <= 2 + (long)(now() - begin),
          "btime");
    begin = now(); /* whoever asks may have to wait for a CPU, too */
    times_of("cpu ", &before);
    usleep(500000); /* the time that idle CPUs are to have */
    times_of("cpu ", &after);
    seconds = now() - begin;
    CHECK(after.idle > before.idle, "no CPU idles while all sleep");
    CHECK((double)(after.idle - before.idle) <= (seconds + 0.1) * 100 * (double)sysconf(_SC_NPROCESSORS_CONF),
          "%ld ticks of %d CPUs in %.2f s", after.idle - before.idle, (int)sysconf(_SC_NPROCESSORS_CONF), seconds);
}

static void test_uptime(void)
{
    double up, idle, later, later_idle, most = (double)sysconf(_SC_NPROCESSORS_CONF);

    CHECK(sscanf(text_of("/proc/uptime"), "%lf %lf", &up, &idle) == 2, "%s", text_of("/proc/uptime"));
    usleep(300000); /* the time that idle CPUs are to have */
    CHECK(sscanf(text_of("/proc/uptime"), "%lf %lf", &later, &later_idle) == 2, "%s", text_of("/proc/uptime"));
    CHECK(up > 0 && later >= up + 0.29, "%f, then %f", up, later);
    CHECK(later_idle > idle, "no CPU idles while all sleep");
    CHECK(later_idle <= later * most + 0.1 * most, "%f idle in %f", later_idle, later);
}

/* --- caches --- */

#define CACHE "/sys/devices/system/cpu/cpu%d/cache/index%d/%s"

static const char *cache_text(int cpu, int index, const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), CACHE, cpu, index, name);
    return text_of(path);
}

static long cache_number(int cpu, int index, const char *name)
{
    const char *text = cache_text(cpu, index, name);

    return text == NULL ? -1 : strtol(text, NULL, 10);
}

/* What a list like "0-3,8" has of CPU. */
static bool list_has(const char *list, int cpu)
{
    while (*list != '\0' && *list != '\n') {
        char *end;
        long first = strtol(list, &end, 10), last = first;

        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (first <= cpu && cpu <= last)
            return true;
        list = *end == ',' ? end + 1 : end;
    }
    return false;
}

static void test_caches(void)
{
    int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), data = 0;

    if (cache_text(0, 0, "level") == NULL) {
        tap_skip("this CPU tells of no caches");
        return;
    }
    for (int cpu = 0; cpu < cpus; cpu++) {
        for (int i = 0; cache_text(cpu, i, "level") != NULL; i++) {
            long level = cache_number(cpu, i, "level"), size = cache_number(cpu, i, "size");
            char type[16] = "";

            strncpy(type, cache_text(cpu, i, "type"), sizeof(type) - 1);
            CHECK(level >= 1 && level <= 4, "cpu %d cache %d: level %ld", cpu, i, level);
            CHECK(strcmp(type, "Data\n") == 0 || strcmp(type, "Instruction\n") == 0 || strcmp(type, "Unified\n") == 0,
                  "cpu %d cache %d: %s", cpu, i, type);
            CHECK(size * 1024 ==
                      cache_number(cpu, i, "coherency_line_size") * cache_number(cpu, i, "ways_of_associativity") *
                          cache_number(cpu, i, "number_of_sets") * cache_number(cpu, i, "physical_line_partition"),
                  "cpu %d cache %d: %ld KiB", cpu, i, size);
            CHECK(list_has(cache_text(cpu, i, "shared_cpu_list"), cpu), "cpu %d cache %d: not its own", cpu, i);
            CHECK(cache_number(cpu, i, "id") >= 0, "cpu %d cache %d: no id", cpu, i);
            data += level == 1 && strcmp(type, "Data\n") == 0;
        }
    }
    CHECK(data == cpus, "%d first caches of data, %d CPUs", data, cpus);
    CHECK(cache_text(0, 15, "level") == NULL && errno == ENOENT, "there is a cache 15");
#ifdef __GLIBC__
    CHECK(sysconf(_SC_LEVEL1_DCACHE_SIZE) == cache_number(0, 0, "size") * 1024, "%ld", sysconf(_SC_LEVEL1_DCACHE_SIZE));
#endif
}

/* --- nodes --- */

#define NODES_MAX 64
#define TOUCHED 300l
#define PAGE 4096l
#define POLICY_DEFAULT 0
#define POLICY_INTERLEAVE 3

struct numa {
    long hit, miss, foreign, interleave, local, other;
};

static bool numa_of(int node, struct numa *out)
{
    char path[64];
    const char *text;

    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/numastat", node);
    text = text_of(path);
    return text != NULL &&
           CHECK(sscanf(text,
                        "numa_hit %ld\nnuma_miss %ld\nnuma_foreign %ld\ninterleave_hit %ld\nlocal_node %ld\n"
                        "other_node %ld\n",
                        &out->hit, &out->miss, &out->foreign, &out->interleave, &out->local, &out->other) == 6,
                 "node %d: %s", node, text);
}

/* Of all nodes; returns how many. */
static int numa_sum(struct numa *sum)
{
    struct numa one;
    int nodes = 0;

    *sum = (struct numa){0};
    for (; nodes < NODES_MAX && numa_of(nodes, &one); nodes++) {
        CHECK(one.hit + one.miss == one.local + one.other, "node %d: %ld and %ld, %ld and %ld", nodes, one.hit,
              one.miss, one.local, one.other);
        sum->hit += one.hit;
        sum->miss += one.miss;
        sum->foreign += one.foreign;
        sum->interleave += one.interleave;
        sum->local += one.local;
        sum->other += one.other;
    }
    return nodes;
}

static void touch_pages(void)
{
    char *area = mmap(NULL, TOUCHED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (!CHECK(area != MAP_FAILED, "%s", strerror(errno)))
        return;
    madvise(area, TOUCHED * PAGE, MADV_NOHUGEPAGE);
    for (long i = 0; i < TOUCHED; i++)
        area[i * PAGE] = 1;
    munmap(area, TOUCHED * PAGE);
}

static void test_numa(void)
{
    struct numa before, after;
    int nodes = numa_sum(&before);

    if (nodes == 0) {
        tap_skip("this machine tells of no nodes");
        return;
    }
    touch_pages();
    numa_sum(&after);
    CHECK(after.hit + after.miss - before.hit - before.miss >= TOUCHED, "%ld of %ld pages",
          after.hit + after.miss - before.hit - before.miss, TOUCHED);
    CHECK(after.miss == after.foreign, "%ld missed here, %ld there", after.miss, after.foreign);
}

static void test_interleave(void)
{
    struct numa before, after, one[2], then[2];
    unsigned long mask = 3;

    if (numa_sum(&before) < 2 || !numa_of(0, &one[0]) || !numa_of(1, &one[1])) {
        tap_skip("this machine has one node");
        return;
    }
    if (!CHECK(syscall(SYS_set_mempolicy, POLICY_INTERLEAVE, &mask, 64) == 0, "%s", strerror(errno)))
        return;
    touch_pages();
    CHECK(syscall(SYS_set_mempolicy, POLICY_DEFAULT, NULL, 0) == 0, "%s", strerror(errno));
    numa_sum(&after);
    CHECK(after.interleave - before.interleave >= TOUCHED, "%ld", after.interleave - before.interleave);
    for (int i = 0; i < 2; i++) {
        numa_of(i, &then[i]);
        CHECK(then[i].hit - one[i].hit >= TOUCHED / 2, "node %d: %ld", i, then[i].hit - one[i].hit);
    }
    CHECK(after.other - before.other >= TOUCHED / 2, "%ld are on another node than their CPU",
          after.other - before.other);
}

static void test_node_memory(void)
{
    for (int node = 0; node < NODES_MAX; node++) {
        char path[64], name[32];
        long total, free;

        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
        if (text_of(path) == NULL) {
            CHECK(errno == ENOENT, "%s", strerror(errno));
            return;
        }
        snprintf(name, sizeof(name), "Node %d MemTotal:", node);
        total = number_in(path, name);
        snprintf(name, sizeof(name), "Node %d MemFree:", node);
        free = number_in(path, name);
        CHECK(free > 0 && free < total, "node %d: %ld of %ld", node, free, total);
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/vmstat", node);
        free = number_in(path, "nr_free_pages ");
        CHECK(free > 0 && free * 4 < total, "node %d: %ld pages of %ld KiB", node, free, total);
        CHECK(number_in(path, "numa_hit ") >= 0, "vmstat of node %d", node);
    }
}

static const struct tap_test tests[] = {
    {"load", "load averages rise with threads that run", test_load},
    {"last", "/proc/loadavg names the last process that was made", test_last},
    {"stat", "/proc/stat counts switches, processes and idle time", test_stat},
    {"uptime", "/proc/uptime counts the time in which CPUs idle", test_uptime},
    {"caches", "/sys describes each CPU's caches and which CPUs share them", test_caches},
    {"numa", "numastat counts the pages that are touched", test_numa},
    {"interleave", "interleaved pages are counted on their nodes", test_interleave},
    {"node-memory", "/sys describes the memory of each node", test_node_memory},
};

int main(int argc, char **argv)
{
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
