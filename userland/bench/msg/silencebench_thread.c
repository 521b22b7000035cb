/* silencebench: processes of many threads: they end, wake up, move, exec, and other kernels look at them. */
#include "userland/bench/msg/silencebench.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "libc/numa.h"
#include "userland/proc_file.h"

#define READERS 300
#define SHARED (64 * PAGE) /* used on two kernels */
#define GROUP 1

static int pipes[2];

static int left_threads; /* that have arrived elsewhere */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *thread_leave(void *unused)
{
    if (pthread_mutex_lock(&gate) != 0 || pthread_mutex_unlock(&gate) != 0 ||
        kettle_migrate((kettle_kernel() + 1) % kettle_kernels()) != 0)
        silence_fail("kettle_migrate");
    __atomic_fetch_add(&left_threads, 1, __ATOMIC_RELEASE);
    return silence_sleep(unused);
}

static int looking, satisfied; /* threads that read from PIPES[0], and have read */

static void *thread_read(void *unused)
{
    char byte;

    __atomic_fetch_add(&looking, 1, __ATOMIC_RELEASE);
    if (read(pipes[0], &byte, 1) != 1)
        silence_fail("read");
    __atomic_fetch_add(&satisfied, 1, __ATOMIC_RELEASE);
    return silence_sleep(unused);
}

static void make_readers(void)
{
    if (pipe(pipes) != 0)
        silence_fail("pipe");
    silence_start_threads(READERS, thread_read);
    while (__atomic_load_n(&looking, __ATOMIC_ACQUIRE) < READERS)
        usleep(1000);
    usleep(10000);
}

/* All wake up, and all but one find nothing and wait again. */
static void write_byte(void)
{
    if (write(pipes[1], "", 1) != 1)
        silence_fail("write");
    while (__atomic_load_n(&satisfied, __ATOMIC_ACQUIRE) == 0)
        usleep(1000);
    usleep(10000);
}

/* They are to move to another kernel, all at once. */
static void make_threads_leaving(void)
{
    pthread_mutex_lock(&gate);
    silence_start_threads(SILENCE_THREADS, thread_leave);
}

static void let_threads_leave(void)
{
    pthread_mutex_unlock(&gate);
    while (__atomic_load_n(&left_threads, __ATOMIC_ACQUIRE) < SILENCE_THREADS)
        usleep(1000);
}

static void make_threads_elsewhere(void)
{
    make_threads_leaving();
    let_threads_leave();
}

static pthread_t guest;
static atomic_bool guest_ends;

/* Uses the memory until it is told to end, wherever it is, and sleeps between: what a program does would count as the
 * silence of another kernel. */
static void *thread_use(void *all_cpus)
{
    if (sched_setaffinity(0, sizeof(cpu_set_t), all_cpus) != 0)
        silence_fail("sched_setaffinity");
    while (!atomic_load(&guest_ends)) {
        silence_touch(silence_memory, SHARED);
        usleep(1000);
    }
    return NULL;
}

/* Memory that is here, a thread on another kernel that uses it, and SILENCE_THREADS that wait there and are in GROUP.
 */
static void make_guest_among_threads(void)
{
    static cpu_set_t all;
    cpu_set_t there;
    int here = kettle_kernel();

    silence_memory = silence_map(SHARED, 0);
    silence_touch(silence_memory, SHARED);
    if (sched_getaffinity(0, sizeof(all), &all) != 0 || kettle_migrate((here + 1) % kettle_kernels()) != 0)
        silence_fail("kettle_migrate");
    CPU_ZERO(&there);
    CPU_SET((size_t)sched_getcpu(), &there);
    if (sched_setaffinity(0, sizeof(there), &there) != 0 || kettle_group_join(0, GROUP) != 0)
        silence_fail("sched_setaffinity");
    silence_make_threads();
    errno = pthread_create(&guest, NULL, thread_use, &all);
    if (errno != 0 || sched_setaffinity(0, sizeof(all), &all) != 0 || kettle_group_join(0, 0) != 0 ||
        kettle_migrate(here) != 0)
        silence_fail("kettle_migrate");
}

/* How often a kernel has been asked for a thread, and what became of it. */
static unsigned long draws(void)
{
    static const char *const results[] = {"drawn ", "fixed ", "unsure ", "crowded ", "costly ", "asleep "};
    char *text = proc_file_read("/proc/kettle/balance");
    unsigned long sum = 0;

    if (text == NULL)
        silence_fail("/proc/kettle/balance");
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        for (const char *at = text; (at = strstr(at, results[i])) != NULL; at++)
            sum += strtoul(at + strlen(results[i]), NULL, 10);
    }
    free(text);
    return sum;
}

/* The kernel of the guest, which uses what is used here, too, is asked whether it lets a thread go. */
static void use_until_drawn(void)
{
    unsigned long before = draws();

    silence_set_option("numaperiod=5");
    silence_set_option("numa=kettle");
    while (draws() == before) {
        silence_touch(silence_memory, SHARED);
        usleep(1000);
    }
    silence_set_option("numa=none");
    atomic_store(&guest_ends, true);
    pthread_join(guest, NULL);
}

/* The memory comes to the threads of its group, which a look at the guest's kernel has counted. */
static void use_until_gathered(void)
{
    size_t pages[KETTLE_NODES] = {0};

    silence_set_option("numaperiod=5");
    silence_set_option("numa=group");
    if (kettle_block_gather(silence_memory, SHARED, GROUP) != 0)
        silence_fail("kettle_block_gather");
    do {
        silence_touch(silence_memory, SHARED);
        usleep(1000);
        if (kettle_block_where(silence_memory, SHARED, pages) < 0)
            silence_fail("kettle_block_where");
    } while (pages[kettle_node(kettle_kernel())] != 0);
    silence_set_option("numa=none");
    atomic_store(&guest_ends, true);
    pthread_join(guest, NULL);
}

/* The new program goes on as this one would after RUN. */
static void exec_again(void)
{
    execl("/proc/self/exe", "silencebench", "--go-on", silence_go_on, NULL);
    silence_fail("exec");
}

const struct silence_case silence_of_thread[] = {
    {"threads_exit", "exit of a process with 1,500 threads", silence_make_threads, NULL, ANY_KERNEL},
    {"threads_exit_far", "exit of a process with 1,500 threads that have moved to another kernel",
     make_threads_elsewhere, NULL, OTHER_KERNEL},
    {"draw_far", "a draw of one of 1,501 threads on another kernel", make_guest_among_threads, use_until_drawn,
     OTHER_NODE},
    {"group_far", "looks for the NUMA groups of 1,501 threads on another kernel", make_guest_among_threads,
     use_until_gathered, OTHER_NODE},
    {"threads_read", "a byte for 300 threads that read from a pipe", make_readers, write_byte, ANY_KERNEL},
    {"threads_move_far", "1,500 threads that move to another kernel at once", make_threads_leaving, let_threads_leave,
     OTHER_KERNEL},
    {"threads_exec", "exec of a process with 1,500 threads", silence_make_threads, exec_again, ANY_KERNEL},
    {0},
};
