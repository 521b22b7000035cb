/* taskbench: the places where threads can be. On Kettle with several kernels a place is a kernel; else it is a CPU. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "kernel/abi/kettle.h"
#include "userland/taskbench.h"
#include "userland/tests/machine.h"

#define CPU_WORDS 16
#define WORD_BITS (8 * (int)sizeof(unsigned long))

struct taskbench_machine taskbench_machine;

/* Sets of CPUs, made beforehand: taskbench_move may not write memory by vector registers. */
static unsigned long allowed[CPU_WORDS]; /* at the program's start */
static unsigned long only[TASKBENCH_PLACES_MAX][CPU_WORDS];
static long allowed_bytes;
static bool bound; /* the first thread has been bound to a CPU on Kettle */

static long affinity_set(const unsigned long *set)
{
    return machine_call3(SYS_sched_setaffinity, 0, sizeof(allowed), (long)set);
}

static void cpu_here(int *cpu, int *node)
{
    unsigned values[2] = {0, 0};

    machine_call3(SYS_getcpu, (long)&values[0], (long)&values[1], 0);
    *cpu = (int)values[0];
    *node = (int)values[1];
}

static void place_set_cpu(int place, int cpu)
{
    taskbench_machine.places[place].cpu = cpu;
    memset(only[place], 0, sizeof(only[place]));
    only[place][cpu / WORD_BITS] = 1ul << cpu % WORD_BITS;
}

static void place_add(int kernel, int node)
{
    if (taskbench_machine.count < TASKBENCH_PLACES_MAX)
        taskbench_machine.places[taskbench_machine.count++] = (struct taskbench_place){
            .kernel = kernel, .cpu = -1, .node = node};
}

/* Finds the started kernels, this one first. */
static void kernels_find(int here)
{
    long kernels = machine_call0(KETTLE_CALL_KERNELS);

    place_add(here, (int)machine_call1(KETTLE_CALL_NODE, here));
    for (int kernel = 0; kernel < kernels; kernel++) {
        if (kernel != here && machine_call1(KETTLE_CALL_STARTED, kernel) == 1)
            place_add(kernel, (int)machine_call1(KETTLE_CALL_NODE, kernel));
    }
}

/* Finds the CPUs that this program may use, the first one first, and their nodes by going there; stays on the first.
 * Where a thread cannot be bound, this CPU is the only place. */
static void cpus_find(void)
{
    for (int cpu = 0; cpu < CPU_WORDS * WORD_BITS && taskbench_machine.count < TASKBENCH_PLACES_MAX; cpu++) {
        int place = taskbench_machine.count;
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
    if (taskbench_machine.count == 0) {
        int cpu;
        int node;

        cpu_here(&cpu, &node);
        place_add(0, node);
        place_set_cpu(0, cpu);
    } else {
        affinity_set(only[0]);
    }
}

void taskbench_machine_find(void)
{
    struct taskbench_machine *machine = &taskbench_machine;
    long here = machine_call0(KETTLE_CALL_KERNEL);

    *machine = (struct taskbench_machine){.kettle = here != -ENOSYS, .same = -1, .other = -1};
    allowed_bytes = machine_call3(SYS_sched_getaffinity, 0, sizeof(allowed), (long)allowed);
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

int taskbench_place(enum taskbench_where where)
{
    return where == WHERE_SAME ? taskbench_machine.same : where == WHERE_OTHER ? taskbench_machine.other : 0;
}

/* The choice of a call and nothing else: it lies between the markers. */
int taskbench_move(enum taskbench_how how, int place)
{
    struct taskbench_machine *machine = &taskbench_machine;

    machine->places[place].visited = true;
    if (how == HOW_USUAL)
        how = machine->usual;
    return (int)-(how == HOW_MIGRATE ? machine_call1(KETTLE_CALL_MIGRATE, machine->places[place].kernel)
                                     : affinity_set(only[place]));
}

bool taskbench_is_at(enum taskbench_how how, int place)
{
    int cpu;
    int node;

    if (how == HOW_MIGRATE || (how == HOW_USUAL && taskbench_machine.usual == HOW_MIGRATE))
        return machine_call0(KETTLE_CALL_KERNEL) == taskbench_machine.places[place].kernel;
    cpu_here(&cpu, &node);
    return cpu == taskbench_machine.places[place].cpu;
}

int taskbench_go(int place)
{
    int error = taskbench_move(HOW_USUAL, place);

    return error == 0 ? 0 : taskbench_failed("going to another place", error);
}

int taskbench_go_home(void)
{
    if (bound && taskbench_machine.usual == HOW_MIGRATE) {
        bound = false;
        if (affinity_set(allowed) != 0)
            return taskbench_failed("sched_setaffinity to every CPU", EINVAL);
    }
    return taskbench_go(0);
}

int taskbench_bind_here(void)
{
    unsigned long here[CPU_WORDS] = {0};
    int cpu;
    int node;
    long result;

    if (taskbench_machine.usual != HOW_MIGRATE)
        return 0;
    cpu_here(&cpu, &node);
    here[cpu / WORD_BITS] = 1ul << cpu % WORD_BITS;
    result = affinity_set(here);
    bound = true;
    return result == 0 ? 0 : taskbench_failed("sched_setaffinity to this CPU", (int)-result);
}

int taskbench_unbind(void)
{
    long result = taskbench_machine.usual == HOW_MIGRATE ? affinity_set(allowed) : 0;

    return result == 0 ? 0 : taskbench_failed("sched_setaffinity to every CPU", (int)-result);
}

int taskbench_visit_all(void)
{
    for (int i = 0; i < taskbench_machine.count; i++) {
        int error = taskbench_go(i);

        if (error != 0)
            return error;
    }
    return taskbench_go(0);
}

int taskbench_cpus_find(int place)
{
    int wanted[] = {place, 0};
    long result = affinity_set(allowed);

    if (result != 0)
        return taskbench_failed("sched_setaffinity", (int)-result);
    bound = true;
    for (int i = 0; i < 2; i++) {
        int error = taskbench_go(wanted[i]);
        int cpu;
        int node;

        if (error != 0)
            return error;
        cpu_here(&cpu, &node);
        if (taskbench_machine.places[wanted[i]].cpu < 0)
            place_set_cpu(wanted[i], cpu);
    }
    return 0;
}
