/* test-vdso: the code and the clock that every program has without a system call. The same tests run on Linux, where
 * the places are CPUs.
 *
 * usage: test-vdso [ask]    ask: the counters of CPUs differ, so the kernel has to be asked for the time */
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/harness/thread_place.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define THREADS 8
#define PASSES 20000
#define MOVES 200
#define SECOND 1000000000l

typedef int clock_function(clockid_t clock, struct timespec *time);

static clock_function *vdso_gettime, *vdso_getres;
static int (*vdso_gettimeofday)(struct timeval *time, void *zone);
static time_t (*vdso_time)(time_t *out);
static int (*vdso_getcpu)(unsigned *cpu, unsigned *node, void *unused);

/* --- the shared object --- */

struct object {
    uintptr_t base, bias;
    const Elf64_Sym *symbols;
    const char *strings;
    const Elf64_Versym *versions;
    const Elf64_Verdef *definitions;
    const uint32_t *hash;
};

static bool read_object(struct object *o)
{
    const Elf64_Ehdr *header;
    const Elf64_Phdr *part;
    const Elf64_Dyn *dynamic = NULL;
    uintptr_t bias = (uintptr_t)-1;

    o->base = getauxval(AT_SYSINFO_EHDR);
    if (!CHECK(o->base != 0, "AT_SYSINFO_EHDR is there"))
        return false;
    header = (const Elf64_Ehdr *)o->base;
    if (!CHECK(memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_type == ET_DYN, "a shared object"))
        return false;
    part = (const Elf64_Phdr *)(o->base + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
        if (part[i].p_type == PT_LOAD && bias == (uintptr_t)-1)
            bias = o->base + part[i].p_offset - part[i].p_vaddr;
        if (part[i].p_type == PT_DYNAMIC)
            dynamic = (const Elf64_Dyn *)(o->base + part[i].p_offset);
    }
    if (!CHECK(bias != (uintptr_t)-1 && dynamic != NULL, "it has a loaded part and a dynamic section"))
        return false;
    o->bias = bias;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        const void *at = (const void *)(bias + dynamic->d_un.d_ptr);

        if (dynamic->d_tag == DT_SYMTAB)
            o->symbols = at;
        else if (dynamic->d_tag == DT_STRTAB)
            o->strings = at;
        else if (dynamic->d_tag == DT_HASH)
            o->hash = at;
        else if (dynamic->d_tag == DT_VERSYM)
            o->versions = at;
        else if (dynamic->d_tag == DT_VERDEF)
            o->definitions = at;
    }
    return CHECK(o->symbols && o->strings && o->hash && o->versions && o->definitions, "its tables are there");
}

static const char *version_of(const struct object *o, unsigned index)
{
    const Elf64_Verdef *at = o->definitions;

    while ((at->vd_ndx & 0x7fff) != (o->versions[index] & 0x7fff)) {
        if (at->vd_next == 0)
            return "none";
        at = (const Elf64_Verdef *)((uintptr_t)at + at->vd_next);
    }
    return o->strings + ((const Elf64_Verdaux *)((uintptr_t)at + at->vd_aux))->vda_name;
}

static void *symbol(const struct object *o, const char *name)
{
    for (unsigned i = 0; i < o->hash[1]; i++) {
        if (strcmp(o->strings + o->symbols[i].st_name, name) != 0 || o->symbols[i].st_shndx == 0)
            continue;
        CHECK(strcmp(version_of(o, i), "LINUX_2.6") == 0, "%s has version %s", name, version_of(o, i));
        return (void *)(o->bias + o->symbols[i].st_value);
    }
    CHECK(false, "no symbol %s", name);
    return NULL;
}

static void test_object(void)
{
    struct object o = {0};

    if (!read_object(&o))
        return;
    vdso_gettime = (clock_function *)(uintptr_t)symbol(&o, "__vdso_clock_gettime");
    vdso_getres = (clock_function *)(uintptr_t)symbol(&o, "__vdso_clock_getres");
    vdso_gettimeofday = (int (*)(struct timeval *, void *))(uintptr_t)symbol(&o, "__vdso_gettimeofday");
    vdso_time = (time_t(*)(time_t *))(uintptr_t)symbol(&o, "__vdso_time");
    vdso_getcpu = (int (*)(unsigned *, unsigned *, void *))(uintptr_t)symbol(&o, "__vdso_getcpu");
}

static void test_maps(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t base = getauxval(AT_SYSINFO_EHDR);
    bool code = false, data = false;
    char line[400];

    if (maps == NULL) {
        CHECK(false, "maps: %s", strerror(errno));
        return;
    }
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long start, end;
        char rights[5];

        if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) != 3)
            continue;
        if (strstr(line, "[vdso]") != NULL)
            code = start == base && strcmp(rights, "r-xp") == 0;
        if (strstr(line, "[vvar]") != NULL)
            data = end <= base && strcmp(rights, "r--p") == 0;
    }
    fclose(maps);
    CHECK(code, "[vdso] at %lx, r-xp", (unsigned long)base);
    CHECK(data, "[vvar] before it, r--p");
}

/* --- what it tells --- */

static long ns(const struct timespec *time)
{
    return time->tv_sec * SECOND + time->tv_nsec;
}

static long syscall_clock(clockid_t clock)
{
    struct timespec time;

    return x86_syscall3(SYS_clock_gettime, clock, (long)&time, 0) == 0 ? ns(&time) : -1;
}

static long vdso_clock(clockid_t clock)
{
    struct timespec time;

    return vdso_gettime(clock, &time) == 0 && time.tv_nsec >= 0 && time.tv_nsec < SECOND ? ns(&time) : -1;
}

static void test_clocks(void)
{
    static const clockid_t exact[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_TAI};
    static const clockid_t all[] = {
        CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,      CLOCK_REALTIME_COARSE,  CLOCK_MONOTONIC_COARSE,
        CLOCK_BOOTTIME, CLOCK_TAI,       CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
    struct timespec time;

    for (int round = 0; round < 1000; round++) {
        for (size_t i = 0; i < TAP_COUNT(exact); i++) {
            long before = syscall_clock(exact[i]), middle = vdso_clock(exact[i]), after = syscall_clock(exact[i]);

            if (!CHECK(before <= middle && middle <= after && before >= 0, "clock %d: call %ld, vDSO %ld, call %ld",
                       exact[i], before, middle, after))
                return;
        }
    }
    for (size_t i = 0; i < TAP_COUNT(all); i++) {
        struct timespec same;

        CHECK(vdso_clock(all[i]) >= 0, "clock %d", all[i]);
        CHECK(vdso_getres(all[i], &time) == 0 && x86_syscall3(SYS_clock_getres, all[i], (long)&same, 0) == 0 &&
                  ns(&time) == ns(&same),
              "resolution of clock %d: %ld and %ld ns", all[i], ns(&time), ns(&same));
    }
    CHECK(vdso_gettime(99, &time) == -EINVAL && vdso_getres(99, &time) == -EINVAL, "clock 99 is none");
    CHECK(vdso_getres(CLOCK_MONOTONIC, NULL) == 0, "a resolution that nobody wants to know");
}

static void test_day(void)
{
    struct timeval now;
    int zone[2] = {77, 77};
    long before = syscall_clock(CLOCK_REALTIME) / 1000, after, seconds;
    time_t out = 0;

    CHECK(vdso_gettimeofday(&now, zone) == 0, "gettimeofday");
    after = syscall_clock(CLOCK_REALTIME) / 1000;
    CHECK(now.tv_sec * 1000000 + now.tv_usec >= before && now.tv_sec * 1000000 + now.tv_usec <= after,
          "%ld us, %ld.%06ld, %ld us", before, (long)now.tv_sec, (long)now.tv_usec, after);
    CHECK(zone[0] == 0 && zone[1] == 0, "the zone is %d %d", zone[0], zone[1]);
    CHECK(vdso_gettimeofday(NULL, NULL) == 0, "gettimeofday of nothing");
    seconds = syscall_clock(CLOCK_REALTIME_COARSE) / SECOND;
    CHECK(vdso_time(&out) >= seconds && out >= seconds && vdso_time(NULL) <= seconds + 100, "time %ld, %ld", (long)out,
          seconds);
}

/* Where a thread is says the call before and after; when those agree, so does the vDSO. */
static void test_cpu(void)
{
    int agreed = 0;

    for (int i = 0; i < 4 * thread_places(); i++) {
        unsigned cpu = 9999, node = 9999, before[2] = {0}, after[2] = {0};

        thread_place_go(i);
        x86_syscall3(SYS_getcpu, (long)&before[0], (long)&before[1], 0);
        CHECK(vdso_getcpu(&cpu, &node, NULL) == 0, "getcpu");
        x86_syscall3(SYS_getcpu, (long)&after[0], (long)&after[1], 0);
        if (before[0] != after[0])
            continue;
        agreed++;
        CHECK(cpu == before[0] && node == before[1], "at place %d CPU %u of node %u; the call says %u of %u", i, cpu,
              node, before[0], before[1]);
    }
    CHECK(agreed > 0, "a thread that stays on its CPU for a moment");
    CHECK(vdso_getcpu(NULL, NULL, NULL) == 0, "getcpu of nothing");
}

/* --- time does not go back --- */

static atomic_long latest; /* what anybody has read */
static atomic_int ready, backwards;
static bool calls; /* every other reading is by system call */

/* Each takes the latest reading, reads the clock, and hands that on. */
static void pass_on(struct thread *self)
{
    thread_place_go(self->index);
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < THREADS)
        x86_pause();
    for (int i = 0; i < PASSES; i++) {
        long before = atomic_load(&latest);
        long now = calls && i % 2 == 1 ? syscall_clock(CLOCK_MONOTONIC) : vdso_clock(CLOCK_MONOTONIC);

        if (now < before) {
            atomic_fetch_add(&backwards, 1);
            atomic_store(&self->result, before - now);
        }
        while (before < now && !atomic_compare_exchange_weak(&latest, &before, now))
            ;
        if (i % 256 == 255)
            x86_syscall0(SYS_sched_yield);
    }
}

static void pass_round(void)
{
    static struct thread threads[THREADS];

    atomic_store(&latest, 0);
    atomic_store(&ready, 0);
    atomic_store(&backwards, 0);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.index = i};
        if (!CHECK(thread_start(&threads[i], pass_on), "thread %d: %s", i, strerror(errno)))
            exit(1);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(thread_join(&threads[i]), "thread %d ends", i);
        CHECK(atomic_load(&threads[i].result) == 0, "thread %d saw a time %ld ns before one it had been told", i,
              atomic_load(&threads[i].result));
    }
    CHECK(atomic_load(&backwards) == 0, "%d times", atomic_load(&backwards));
}

static void test_threads(void)
{
    calls = false;
    pass_round();
}

static void test_mixed(void)
{
    calls = true;
    pass_round();
}

static void test_moving(void)
{
    long before = vdso_clock(CLOCK_MONOTONIC), day = vdso_clock(CLOCK_REALTIME);

    for (int i = 0; i < MOVES; i++) {
        long now, today;

        thread_place_go(i % 3 == 0 ? i : i + 1);
        now = i % 2 == 0 ? vdso_clock(CLOCK_MONOTONIC) : syscall_clock(CLOCK_MONOTONIC);
        today = i % 2 == 0 ? syscall_clock(CLOCK_REALTIME) : vdso_clock(CLOCK_REALTIME);
        if (!CHECK(now >= before && today >= day, "move %d: %ld ns back, %ld of the day", i, before - now, day - today))
            return;
        before = now;
        day = today;
    }
}

static void test_fork(void)
{
    long before = vdso_clock(CLOCK_MONOTONIC);
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        bool fine = vdso_clock(CLOCK_MONOTONIC) >= before;

        for (int i = 0; i < thread_places(); i++) {
            thread_place_go(i);
            fine = fine && vdso_clock(CLOCK_MONOTONIC) >= before;
        }
        _exit(fine ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child left with %d", status);
    CHECK_CHILD_EXITS("child", NULL, 3);
}

/* --- setting it --- */

static void test_set(void)
{
    static const struct timespec wrong[] = {{-1, 0}, {0, -1}, {0, SECOND}, {0, 0}};
    long monotonic = syscall_clock(CLOCK_MONOTONIC), day = syscall_clock(CLOCK_REALTIME);
    struct timespec later = {day / SECOND + 1000, day % SECOND}, back;

    for (size_t i = 0; i < TAP_COUNT(wrong); i++)
        CHECK_ERROR(clock_settime(CLOCK_REALTIME, &wrong[i]), EINVAL);
    CHECK_ERROR(clock_settime(CLOCK_MONOTONIC, &later), EINVAL);
    CHECK_ERROR(clock_settime(CLOCK_REALTIME, (void *)1), EFAULT);
    if (!CHECK(clock_settime(CLOCK_REALTIME, &later) == 0, "clock_settime: %s", strerror(errno)))
        return;
    for (int i = 0; i < thread_places(); i++) {
        long now;

        thread_place_go(i);
        now = vdso_clock(CLOCK_REALTIME) - day;
        CHECK(now >= 1000 * SECOND && now < 1600 * SECOND, "at place %d it is %ld ns later", i, now);
        now = syscall_clock(CLOCK_REALTIME) - day;
        CHECK(now >= 1000 * SECOND && now < 1600 * SECOND, "at place %d the kernel says %ld ns later", i, now);
        CHECK(vdso_clock(CLOCK_MONOTONIC) - monotonic < 600 * SECOND, "the other clock stays");
    }
    day += syscall_clock(CLOCK_MONOTONIC) - monotonic;
    back = (struct timespec){day / SECOND, day % SECOND};
    CHECK(clock_settime(CLOCK_REALTIME, &back) == 0, "clock_settime: %s", strerror(errno));
    CHECK(vdso_clock(CLOCK_REALTIME) - day < 600 * SECOND, "and back");
}

/* Whether the time is told without the kernel: the page of data says so, directly before the code. */
static void test_mode(bool ask)
{
    const volatile unsigned *usable = (const volatile unsigned *)(getauxval(AT_SYSINFO_EHDR) - 4096);

    if (!tap_on_kettle()) {
        tap_skip("where Linux keeps that is its own affair");
        return;
    }
    CHECK(*usable == (ask ? 0 : 1), "the word is %u", *usable);
}

static void test_usable(void)
{
    test_mode(false);
}

static void test_ask(void)
{
    test_mode(true);
}

int main(int argc, char **argv)
{
    static struct tap_test tests[] = {
        {"object", "the vDSO is a shared object with the five functions", test_object},
        {"maps", "/proc/self/maps names the pages of the vDSO", test_maps},
        {"clocks", "the vDSO and the system calls give the same times", test_clocks},
        {"day", "the vDSO and the system calls give the same time of day", test_day},
        {"cpu", "the vDSO's getcpu gives the CPU and the node", test_cpu},
        {"threads", "no thread reads a time earlier than one that another thread has read", test_threads},
        {"mixed", "time does not go back between threads that use the vDSO and threads that use system calls",
         test_mixed},
        {"moving", "time does not go back for a thread that moves", test_moving},
        {"fork", "a child and the program that it executes have the vDSO", test_fork},
        {"set", "setting the time of day changes it for all processes", test_set},
        {"usable", "the counters of the CPUs agree, so the vDSO makes no system call", test_usable},
    };

    if (argc > 1 && strcmp(argv[1], "@child") == 0) {
        struct timespec time;

        return clock_gettime(CLOCK_MONOTONIC, &time) == 0 && getauxval(AT_SYSINFO_EHDR) != 0 ? 3 : 1;
    }
    if (tap_take(&argc, &argv, "ask"))
        tests[TAP_COUNT(tests) - 1] = (struct tap_test){"ask", "counters differ, so the kernel is asked", test_ask};
    thread_places_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
