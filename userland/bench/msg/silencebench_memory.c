/* silencebench: calls about memory, here and on another kernel, and the ends of processes that have much of it. */
#include "userland/bench/msg/silencebench.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "userland/proc_file.h"

#define AREAS 20000ul
#define STACKS 750ul /* of STACK_PAGES pages, of which the lowest cannot be accessed */
#define STACK_PAGES 5ul

/* Memory that is made of AREAS areas. */
static void map_areas(void)
{
    silence_memory = silence_map(AREAS * PAGE, 0);
    for (size_t i = 0; i < AREAS; i += 2) {
        if (mprotect(silence_memory + i * PAGE, PAGE, PROT_READ) != 0)
            silence_fail("mprotect");
    }
}

static void unmap(void)
{
    if (munmap(silence_memory, SILENCE_MEMORY) != 0)
        silence_fail("munmap");
}

static void unmap_areas(void)
{
    if (munmap(silence_memory, AREAS * PAGE) != 0)
        silence_fail("munmap");
}

static void protect_areas(void)
{
    if (mprotect(silence_memory, AREAS * PAGE, PROT_READ) != 0)
        silence_fail("mprotect");
}

static void read_whole(const char *path)
{
    char *text = proc_file_read(path);

    if (text == NULL)
        silence_fail(path);
    free(text);
}

static void read_maps(void)
{
    read_whole("/proc/self/maps");
}

static void protect(void)
{
    if (mprotect(silence_memory, SILENCE_MEMORY, PROT_READ) != 0)
        silence_fail("mprotect");
}

static void discard(void)
{
    if (madvise(silence_memory, SILENCE_MEMORY, MADV_DONTNEED) != 0)
        silence_fail("madvise");
}

static void fork_and_wait(void)
{
    pid_t child = fork();

    if (child < 0)
        silence_fail("fork");
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

static void populate(void)
{
    silence_map(SILENCE_MEMORY, MAP_POPULATE);
}

static void lock_memory(void)
{
    if (mlock(silence_memory, SILENCE_MEMORY) != 0)
        silence_fail("mlock");
}

static void remap_memory(void)
{
    char *to = silence_map(SILENCE_MEMORY, 0);

    if (mremap(silence_memory, SILENCE_MEMORY, SILENCE_MEMORY, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
        silence_fail("mremap");
}

static void look_resident(void)
{
    unsigned char *there = malloc(SILENCE_MEMORY / PAGE);

    if (there == NULL || mincore(silence_memory, SILENCE_MEMORY, there) != 0)
        silence_fail("mincore");
}

/* Advice for memory of AREAS areas, which the kernel checks first, and the same memory locked. */
static void advise_areas(void)
{
    if (madvise(silence_memory, AREAS * PAGE, MADV_WILLNEED) != 0 ||
        madvise(silence_memory, AREAS * PAGE, MADV_DONTFORK) != 0 ||
        mlock2(silence_memory, AREAS * PAGE, MLOCK_ONFAULT) != 0)
        silence_fail("advice");
}

/* STACKS stacks, which another kernel has mapped and touched, in leases of its own. */
static void map_stacks_elsewhere(void)
{
    int here = kettle_kernel();
    char *low = NULL, *high = NULL;

    if (kettle_migrate((here + 1) % kettle_kernels()) != 0)
        silence_fail("kettle_migrate");
    for (size_t i = 0; i < STACKS; i++) {
        char *stack = silence_map(STACK_PAGES * PAGE, 0);

        if (mprotect(stack, PAGE, PROT_NONE) != 0)
            silence_fail("mprotect");
        silence_touch(stack + (STACK_PAGES - 2) * PAGE, 2 * PAGE);
        low = low == NULL || stack < low ? stack : low;
        high = stack + STACK_PAGES * PAGE > high ? stack + STACK_PAGES * PAGE : high;
    }
    if (kettle_migrate(here) != 0)
        silence_fail("kettle_migrate");
    if ((size_t)(high - low) != STACKS * STACK_PAGES * PAGE)
        silence_fail("stacks one after the other");
    silence_memory = low;
}

static void protect_stacks(void)
{
    if (mprotect(silence_memory, STACKS * STACK_PAGES * PAGE, PROT_READ) != 0)
        silence_fail("mprotect");
}

const struct silence_case silence_of_memory[] = {
    {"exit", "exit of a process with 48 MiB", silence_fill_memory, NULL, ANY_KERNEL},
    {"munmap", "munmap of 48 MiB", silence_fill_memory, unmap, ANY_KERNEL},
    {"protect", "mprotect of 48 MiB", silence_fill_memory, protect, ANY_KERNEL},
    {"discard", "MADV_DONTNEED of 48 MiB", silence_fill_memory, discard, ANY_KERNEL},
    {"remap", "mremap of 48 MiB to another place", silence_fill_memory, remap_memory, ANY_KERNEL},
    {"fork", "fork of a process with 48 MiB, and the child's end", silence_fill_memory, fork_and_wait, ANY_KERNEL},
    {"populate", "mmap of 48 MiB with MAP_POPULATE", silence_map_memory, populate, ANY_KERNEL},
    {"mlock", "mlock of 48 MiB", silence_map_memory, lock_memory, ANY_KERNEL},
    {"mincore", "mincore of 48 MiB", silence_fill_memory, look_resident, ANY_KERNEL},
    {"exit_far", "exit of a process with 48 MiB on another kernel", silence_fill_elsewhere, NULL, OTHER_KERNEL},
    {"munmap_far", "munmap of 48 MiB that another kernel has", silence_fill_elsewhere, unmap, OTHER_KERNEL},
    {"protect_far", "mprotect of 48 MiB that another kernel has", silence_fill_elsewhere, protect, OTHER_KERNEL},
    {"discard_far", "MADV_DONTNEED of 48 MiB that another kernel has", silence_fill_elsewhere, discard, OTHER_KERNEL},
    {"fork_far", "fork of a process with 48 MiB on another kernel", silence_fill_elsewhere, fork_and_wait,
     OTHER_KERNEL},
    {"areas_exit", "exit of a process with 20,000 areas", map_areas, NULL, ANY_KERNEL},
    {"areas_munmap", "munmap of 20,000 areas", map_areas, unmap_areas, ANY_KERNEL},
    {"areas_protect", "mprotect of 20,000 areas", map_areas, protect_areas, ANY_KERNEL},
    {"areas_advise", "madvise and mlock2 of 20,000 areas", map_areas, advise_areas, ANY_KERNEL},
    {"areas_fork", "fork of a process with 20,000 areas", map_areas, fork_and_wait, ANY_KERNEL},
    {"maps", "/proc/self/maps with 20,000 areas", map_areas, read_maps, ANY_KERNEL},
    {"stacks_far", "mprotect of 750 stacks in leases of another kernel", map_stacks_elsewhere, protect_stacks,
     OTHER_KERNEL},
    {0},
};
