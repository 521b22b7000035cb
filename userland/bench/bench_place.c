/* Places where the threads of a benchmark can be. userland/bench/bench_place.h is the contract. */
#include "userland/bench/bench_place.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "kernel/abi/kettle.h"
#include "userland/bench/bench_measure.h"
#include "userland/x86.h"

#define CPU_WORDS 16
#define WORD_BITS (8 * (int)sizeof(unsigned long))

struct bench_machine bench_machine;

/* Sets of CPUs, made beforehand: bench_move may not write memory by vector registers. */
static unsigned long allowed[CPU_WORDS]; /* at the program's start */
static unsigned long only[BENCH_PLACES_MAX][CPU_WORDS];
static long allowed_bytes;
static bool bound; /* the first thread has been bound to a CPU on Kettle */

static long affinity_set(const unsigned long *set)
{
    return x86_syscall3(SYS_sched_setaffinity, 0, sizeof(allowed), (long)set);
}

static void cpu_here(int *cpu, int *node)
{
    unsigned values[2] = {0, 0};

    x86_syscall3(SYS_getcpu, (long)&values[0], (long)&values[1], 0);
    *cpu = (int)values[0];
    *node = (int)values[1];
}

static void place_set_cpu(int place, int cpu)
{
    bench_machine.places[place].cpu = cpu;
    memset(only[place], 0, sizeof(only[place]));
    only[place][cpu / WORD_BITS] = 1ul << cpu % WORD_BITS;
}

static void place_add(int kernel, int node)
{
    if (bench_machine.count < BENCH_PLACES_MAX)
        bench_machine.places[bench_machine.count++] = (struct bench_place){.kernel = kernel, .cpu = -1, .node = node};
}

/* Finds the started kernels, this one first. */
static void kernels_find(int here)
{
    long kernels = x86_syscall0(KETTLE_CALL_KERNELS);

    place_add(here, (int)x86_syscall1(KETTLE_CALL_NODE, here));
    for (int kernel = 0; kernel < kernels; kernel++) {
        if (kernel != here && x86_syscall1(KETTLE_CALL_STARTED, kernel) == 1)
            place_add(kernel, (int)x86_syscall1(KETTLE_CALL_NODE, kernel));
    }
}

/* Finds the CPUs that this program may use, the first one first, and their nodes by going there; stays on the first.
 * Where a thread cannot be bound, this CPU is the only place. */
static void cpus_find(void)
{
    for (int cpu = 0; cpu < CPU_WORDS * WORD_BITS && bench_machine.count < BENCH_PLACES_MAX; cpu++) {
        int place = bench_machine.count;
        int here;
        int node;

        if ((allowed[cpu / WORD_BITS] >> cpu % WORD_BITS & 1) == 0)
            continue;
        place_set_cpu(place, cpu);
        if (affinity_set(only[place]) != 0)
            break;
        cpu_here(&here, &node);
        place_add(0, node);
        place_set_cpu(place, here);
    }
    if (bench_machine.count == 0) {
        int cpu;
        int node;

        cpu_here(&cpu, &node);
        place_add(0, node);
        place_set_cpu(0, cpu);
    } else {
        affinity_set(only[0]);
    }
}

void bench_machine_find(void)
{
    struct bench_machine *machine = &bench_machine;
    long here = x86_syscall0(KETTLE_CALL_KERNEL);

    *machine = (struct bench_machine){.kettle = here != -ENOSYS, .same = -1, .other = -1};
    allowed_bytes = x86_syscall3(SYS_sched_getaffinity, 0, sizeof(allowed), (long)allowed);
    machine->usual = HOW_AFFINITY;
    if (machine->kettle) {
        kernels_find((int)here);
        machine->usual = HOW_MIGRATE;
    }
    if (machine->count <= 1) {
        machine->count = 0;
        machine->usual = HOW_AFFINITY;
        cpus_find();
        if (machine->kettle && machine->count == 1)
            machine->usual = HOW_MIGRATE; /* to where it is, which is no move */
    }
    machine->places[0].visited = true;
    for (int i = machine->count - 1; i > 0; i--) {
        if (machine->places[i].node == machine->places[0].node)
            machine->same = i;
        else
            machine->other = i;
    }
}

int bench_place_of(enum bench_where where)
{
    return where == WHERE_SAME ? bench_machine.same : where == WHERE_OTHER ? bench_machine.other : 0;
}

const char *bench_where_refusal(enum bench_where where)
{
    if (where == WHERE_SAME && bench_machine.same < 0)
        return "needs another kernel or CPU on the same node";
    if (where == WHERE_OTHER && bench_machine.other < 0)
        return "needs a kernel or CPU on another node";
    return NULL;
}

const char *bench_where_name(enum bench_where where)
{
    static const char *const names[] = {
        [WHERE_LOCAL] = "home", [WHERE_SAME] = "same node", [WHERE_OTHER] = "other node", [WHERE_ALL] = "everywhere"};

    return names[where];
}

const char *bench_where_word(enum bench_where where)
{
    static const char *const words[] = {
        [WHERE_LOCAL] = "local", [WHERE_SAME] = "same", [WHERE_OTHER] = "other", [WHERE_ALL] = "all"};

    return words[where];
}

/* The choice of a call and nothing else: it lies between the markers. */
int bench_move(enum bench_how how, int place)
{
    struct bench_machine *machine = &bench_machine;

    machine->places[place].visited = true;
    if (how == HOW_USUAL)
        how = machine->usual;
    return (int)-(how == HOW_MIGRATE ? x86_syscall1(KETTLE_CALL_MIGRATE, machine->places[place].kernel)
                                     : affinity_set(only[place]));
}

bool bench_is_at(enum bench_how how, int place)
{
    int cpu;
    int node;

    if (how == HOW_MIGRATE || (how == HOW_USUAL && bench_machine.usual == HOW_MIGRATE))
        return x86_syscall0(KETTLE_CALL_KERNEL) == bench_machine.places[place].kernel;
    cpu_here(&cpu, &node);
    return cpu == bench_machine.places[place].cpu;
}

int bench_go(int place)
{
    int error = bench_move(HOW_USUAL, place);

    return error == 0 ? 0 : bench_failed("going to another place", error);
}

int bench_go_home(void)
{
    if (bound && bench_machine.usual == HOW_MIGRATE) {
        bound = false;
        if (affinity_set(allowed) != 0)
            return bench_failed("sched_setaffinity to every CPU", EINVAL);
    }
    return bench_go(0);
}

int bench_bind_here(void)
{
    unsigned long here[CPU_WORDS] = {0};
    int cpu;
    int node;
    long result;

    if (bench_machine.usual != HOW_MIGRATE)
        return 0;
    cpu_here(&cpu, &node);
    here[cpu / WORD_BITS] = 1ul << cpu % WORD_BITS;
    result = affinity_set(here);
    bound = true;
    return result == 0 ? 0 : bench_failed("sched_setaffinity to this CPU", (int)-result);
}

int bench_unbind(void)
{
    long result = bench_machine.usual == HOW_MIGRATE ? affinity_set(allowed) : 0;

    return result == 0 ? 0 : bench_failed("sched_setaffinity to every CPU", (int)-result);
}

int bench_visit_all(void)
{
    for (int i = 0; i < bench_machine.count; i++) {
        int error = bench_go(i);

        if (error != 0)
            return error;
    }
    return bench_go(0);
}

int bench_cpus_find(int place)
{
    int wanted[] = {place, 0};
    long result = affinity_set(allowed);

    if (result != 0)
        return bench_failed("sched_setaffinity", (int)-result);
    bound = true;
    for (int i = 0; i < 2; i++) {
        int error = bench_go(wanted[i]);
        int cpu;
        int node;

        if (error != 0)
            return error;
        cpu_here(&cpu, &node);
        if (bench_machine.places[wanted[i]].cpu < 0)
            place_set_cpu(wanted[i], cpu);
    }
    return 0;
}
