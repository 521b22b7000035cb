"""OpenMP programs as gcc and Debian's libgomp make them: their threads on every kernel, where the environment says."""

import re

import pytest

CPUS = 8
MACHINE = ("--cpus", str(CPUS), "--nodes", "4", "--kernels", "core")
HELLO = r"""
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
int main(void)
{
#pragma omp parallel
    {
        int cpu = sched_getcpu();
#pragma omp barrier
#pragma omp critical
        printf("thread %d of %d on CPU %d\n", omp_get_thread_num(), omp_get_num_threads(), cpu);
    }
    printf("processors %d places %d\n", omp_get_num_procs(), omp_get_num_places());
    return 0;
}
"""


@pytest.fixture(scope="session")
def omp_hello(musl):
    return musl("omp_hello", HELLO, "-fopenmp", compiler="gcc")


@pytest.fixture
def hello(run, omp_hello):
    """Runs omp_hello with an environment; returns CPUs by thread, processors and places."""

    def call(*environment, machine=MACHINE, program=()):
        words = [word for item in environment for word in ("--env", item)]
        files = ("--file", f"{omp_hello}:/omp_hello") if program else ()
        done = run(*machine, *words, *files, "--", *(program or (omp_hello,)))
        text = done.stdout.decode(errors="replace")
        found = {int(t): (int(n), int(c)) for t, n, c in re.findall(r"thread (\d+) of (\d+) on CPU (\d+)", text)}
        last = re.search(r"processors (\d+) places (\d+)", text)
        assert done.status == 0 and last and found, done.explain()
        assert sorted(found) == list(range(len(found))) and all(n == len(found) for n, _ in found.values()), text
        return {t: c for t, (_, c) in found.items()}, int(last[1]), int(last[2])

    return call


def test_a_thread_on_every_kernel(hello):
    """Without a word from the user: as many threads as CPUs, each on a kernel of its own (CPU c is kernel c here)."""
    cpus, processors, _ = hello()
    assert processors == CPUS and sorted(cpus.values()) == list(range(CPUS)), cpus


def test_bound_in_order(hello):
    cpus, _, places = hello("OMP_PROC_BIND=close", "OMP_PLACES=cores")
    assert places == CPUS and cpus == {t: t for t in range(CPUS)}


def test_places_by_hand(hello):
    cpus, _, places = hello("OMP_PROC_BIND=true", "OMP_PLACES={5},{2}", "OMP_NUM_THREADS=4")
    assert places == 2 and set(cpus.values()) == {2, 5} and cpus[0] == 5, cpus


def test_places_by_threads_are_spread(hello):
    cpus, _, _ = hello("OMP_PROC_BIND=spread", "OMP_PLACES=threads", "OMP_NUM_THREADS=4")
    assert sorted(cpus.values()) == [0, 2, 4, 6], cpus


def test_gomp_cpu_affinity(hello):
    cpus, _, _ = hello("GOMP_CPU_AFFINITY=7 3 0-4:2", "OMP_NUM_THREADS=5")
    assert cpus == {0: 7, 1: 3, 2: 0, 3: 2, 4: 4}


def test_taskset_bounds_the_team(hello):
    """taskset gives the program a mask: the library starts that many threads, there."""
    cpus, processors, _ = hello(program=("taskset", "0x34", "/omp_hello"))
    assert processors == 3 and sorted(cpus.values()) == [2, 4, 5], cpus


def test_kernels_of_several_cpus(hello):
    cpus, processors, _ = hello("OMP_PROC_BIND=true", "OMP_PLACES=cores",
                                machine=("--cpus", "8", "--nodes", "4", "--kernels", "node"))
    assert processors == CPUS and sorted(cpus.values()) == list(range(CPUS)), cpus


def test_sys_agrees_with_linux(run, musl):
    """What /sys tells of CPUs and nodes is what Linux tells on the same machine."""
    program = musl("sys_tree", r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void tell(const char *format, int number)
{
    char name[128], text[512] = "";
    snprintf(name, sizeof(name), format, number);
    FILE *file = fopen(name, "r");
    size_t length = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;
    text[length] = '\0';
    printf("%s: %s", name, file != NULL ? text : "none\n");
}
static void list(const char *name, const char *prefix)
{
    DIR *folder = opendir(name);
    int count = 0;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && strspn(entry->d_name + strlen(prefix), "0123456789") > 0;
    printf("%s: %d of %s\n", name, count, prefix);
}
static void link_of(const char *name)
{
    char text[128] = "";
    printf("%s: %zd %s\n", name, readlink(name, text, sizeof(text) - 1), text);
}
int main(void)
{
    static const char *const cpu[] = {"possible", "present", "online", "offline"};
    static const char *const node[] = {"possible", "online", "has_cpu", "has_memory", "has_normal_memory"};
    static const char *const part[] = {"core_id", "physical_package_id", "core_cpus_list", "core_siblings_list",
                                       "package_cpus_list", "thread_siblings_list", "thread_siblings", "core_siblings"};
    char name[128];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "/sys/devices/system/cpu/%s", cpu[i]);
        tell(name, 0);
    }
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "/sys/devices/system/node/%s", node[i]);
        tell(name, 0);
    }
    for (int i = 0; i < 9; i++) {
        for (int k = 0; k < 8; k++) {
            snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu%d/topology/%s", i, part[k]);
            tell(name, 0);
        }
        snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu%d/node%d", i, i / 2);
        link_of(name);
    }
    for (int i = 0; i < 5; i++) {
        tell("/sys/devices/system/node/node%d/cpulist", i);
        tell("/sys/devices/system/node/node%d/cpumap", i);
        tell("/sys/devices/system/node/node%d/distance", i);
        snprintf(name, sizeof(name), "/sys/devices/system/node/node%d", i);
        list(name, "cpu");
    }
    list("/sys/devices/system/cpu", "cpu");
    list("/sys/devices/system/node", "node");
    link_of("/sys/devices/system/node/node1/cpu3");
    tell("/sys/devices/system/cpu/cpu3/node1/cpulist", 0);
    tell("/sys/devices/system/node/node1/cpu3/topology/core_id", 0);
    return 0;
}
""")
    machine = ("--cpus", "8", "--nodes", "4", "--dist", "10,15,20,25/15,10,15,20/20,15,10,15/25,20,15,10")
    linux = run("--os", "linux", *machine, "--", program)
    kettle = run(*machine, "--kernels", "node", "--", program)
    assert linux.status == 0 and kettle.status == 0, kettle.explain()
    assert kettle.stdout.decode().split("\n") == linux.stdout.decode().split("\n")
