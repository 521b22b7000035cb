/* msgbench: running one case.
 *
 * Every case has one or more senders, each a thread on a kernel of its own; the program's first thread, on the kernel
 * it started on, is always one of them. They get ready (move, send a little, touch their samples), meet, send, and meet
 * again, all without a sleep: a sleeping sender would be woken by messages of its own, which would be measured. Threads
 * are those of userland/thread.h, whose rules hold here; errno is theirs, as each has thread-local storage.
 *
 * After a failure the threads are left as they are: the program ends, and they with it. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "userland/bench/bench.h"
#include "userland/bench/mark.h"
#include "userland/bench/msg/msgbench.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define COUNT_BASE 1000u /* operations of a case of little work */
#define COUNT_MIN 16u
#define REST_NS 50000 /* for a receiver to halt: many times the instructions that it takes */
#define PAGE_WORDS (4096 / sizeof(uint64_t))

struct sender {
    struct thread thread;
    int kernel;
    int error; /* errno, or 0 */
    struct kettle_messages run;
};

static struct sender senders[MSGBENCH_KERNELS_MAX];
static atomic_int ready;    /* senders that may be told to go */
static atomic_int finished; /* senders that have sent all */
static atomic_bool go;
static atomic_bool leave; /* senders may end */

static struct thread spinner; /* the program that keeps a receiver running */
static atomic_int spinner_there;
static atomic_bool spinner_stop;

static uint64_t *samples;
static size_t samples_size; /* bytes mapped */

bool msgbench_control(const char *words)
{
    if (kettle_control(words) == 0)
        return true;
    fprintf(stderr, "msgbench: kettle_control(\"%s\"): %s\n", words, strerror(errno));
    return false;
}

void msgbench_machine_find(struct msgbench_machine *machine)
{
    int here = kettle_kernel();

    *machine = (struct msgbench_machine){.count = 1, .kernels = {here}, .same_node = -1, .other_node = -1};
    for (int kernel = 0; kernel < kettle_kernels() && machine->count < MSGBENCH_KERNELS_MAX; kernel++) {
        if (kernel == here || kettle_started(kernel) != 1)
            continue;
        machine->kernels[machine->count++] = kernel;
        if (kettle_node(kernel) == kettle_node(here))
            machine->same_node = machine->same_node < 0 ? kernel : machine->same_node;
        else
            machine->other_node = machine->other_node < 0 ? kernel : machine->other_node;
    }
}

/* How often each sender calls. */
static uint32_t calls_count(const struct msgbench_case *bench, const struct msgbench_options *options)
{
    uint32_t count = options->count;

    if (count == 0) {
        count = bench->method == METHOD_CALL ? 4 * COUNT_BASE : COUNT_BASE;
        if (bench->bytes > 256)
            count /= bench->bytes > 4096 ? 32 : 4;
        if (bench->method == METHOD_SPACED || (bench->shape != ONE_TO_ONE && bench->kernels == 0))
            count /= 4;
        if (bench->shape == ONE_TO_ALL && bench->kernels != 0)
            count /= 8;
        if (options->quick)
            count /= 10;
        count = count < COUNT_MIN ? COUNT_MIN : count;
    }
    if (bench->method == METHOD_CALL || bench->method == METHOD_PACED)
        count = (count + MSGBENCH_BATCH - 1) / MSGBENCH_BATCH * MSGBENCH_BATCH;
    return count;
}

/* Makes room for COUNT samples, or none when COUNT is 0. */
static bool samples_make(size_t count)
{
    if (samples != NULL)
        munmap(samples, samples_size);
    samples = NULL;
    if (count == 0)
        return true;
    samples_size = count * sizeof(*samples);
    samples = mmap(NULL, samples_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (samples == MAP_FAILED) {
        samples = NULL;
        fprintf(stderr, "msgbench: no memory for %zu samples: %s\n", count, strerror(errno));
        return false;
    }
    return true;
}

static bool failed(const struct msgbench_case *bench, int kernel, int error)
{
    fprintf(stderr, "msgbench: %s: kettle_messages on kernel %d: %s\n", bench->name, kernel, strerror(error));
    return false;
}

/* --- receivers --- */

static void spinner_run(struct thread *thread)
{
    long moved = thread_move(thread->index);

    atomic_store(&thread->result, moved);
    atomic_store(&spinner_there, 1);
    while (!atomic_load_explicit(&spinner_stop, memory_order_relaxed))
        x86_pause();
}

/* Starts a thread that computes on KERNEL until spinner_end. On a kernel of several CPUs the others stay idle. */
static bool spinner_begin(int kernel)
{
    spinner = (struct thread){.index = kernel};
    atomic_store(&spinner_there, 0);
    atomic_store(&spinner_stop, false);
    if (!thread_start(&spinner, spinner_run)) {
        fprintf(stderr, "msgbench: no thread for kernel %d: %s\n", kernel, strerror(errno));
        return false;
    }
    if (!thread_wait(&spinner_there, 1) || atomic_load(&spinner.result) != 0) {
        fprintf(stderr, "msgbench: no thread comes to kernel %d\n", kernel);
        return false;
    }
    return true;
}

static bool spinner_end(void)
{
    atomic_store(&spinner_stop, true);
    if (thread_join(&spinner))
        return true;
    fprintf(stderr, "msgbench: a thread does not end\n");
    return false;
}

/* Tells all kernels how to wait, if that is not how they wait already. Receivers that sleep: kernel 0, where the sender
 * is unless there are several, waits as it does by default. */
static bool peers_prepare(enum msgbench_peer peer)
{
    static const char *const words[] = {
        [PEER_POLLED] = "poll=always", [PEER_RUNNING] = "poll=400", [PEER_SLEEPING] = "poll=0"};
    static enum msgbench_peer current = PEER_NONE;

    if (peer == current || peer == PEER_NONE)
        return true;
    current = peer;
    return msgbench_control(words[peer]) && (peer != PEER_SLEEPING || msgbench_control("kernel=0 poll=400"));
}

/* --- senders --- */

/* Sends a little, so that nothing is done for the first time while it is measured. */
static void sender_prepare(struct sender *sender)
{
    struct kettle_messages warm_up = sender->run;
    volatile uint64_t *own = sender->run.samples;

    for (size_t i = 0; own != NULL && i < sender->run.count; i += PAGE_WORDS)
        own[i] = 0;
    if (own != NULL)
        own[sender->run.count - 1] = 0;
    warm_up.count = warm_up.count / 8 + 1;
    warm_up.samples = NULL;
    if (kettle_messages(&warm_up) != 0)
        sender->error = errno;
}

static void sender_send(struct sender *sender)
{
    if (sender->error == 0 && kettle_messages(&sender->run) != 0)
        sender->error = errno;
}

static void spin_until(atomic_bool *flag)
{
    while (!atomic_load_explicit(flag, memory_order_acquire))
        x86_pause();
}

static void spin_until_count(atomic_int *value, int goal)
{
    while (atomic_load_explicit(value, memory_order_acquire) < goal)
        x86_pause();
}

static void sender_main(struct thread *thread)
{
    struct sender *sender = thread->argument;
    long moved = thread_move(sender->kernel);

    if (moved == 0)
        sender_prepare(sender);
    else
        sender->error = (int)-moved;
    atomic_fetch_add(&ready, 1);
    spin_until(&go);
    sender_send(sender);
    atomic_fetch_add(&finished, 1);
    spin_until(&leave);
}

/* The first error of the senders, said; true when there is none. */
static bool senders_good(const struct msgbench_case *bench, int count)
{
    for (int i = 0; i < count; i++) {
        if (senders[i].error != 0)
            return failed(bench, senders[i].kernel, senders[i].error);
    }
    return true;
}

/* Lets COUNT senders, whose runs are set, send all at once. */
static bool senders_run(const struct msgbench_case *bench, int count)
{
    atomic_store(&ready, 0);
    atomic_store(&finished, 0);
    atomic_store(&go, false);
    atomic_store(&leave, false);
    for (int i = 1; i < count; i++) {
        senders[i].thread = (struct thread){.index = i, .argument = &senders[i]};
        if (!thread_start(&senders[i].thread, sender_main)) {
            fprintf(stderr, "msgbench: %s: no thread: %s\n", bench->name, strerror(errno));
            return false;
        }
    }
    sender_prepare(&senders[0]);
    /* Yields, as the others begin on this kernel, too. */
    if (!thread_wait(&ready, count - 1)) {
        fprintf(stderr, "msgbench: %s: threads do not come to their kernels\n", bench->name);
        return false;
    }
    if (!senders_good(bench, count))
        return false;
    mark_begin(bench->region);
    atomic_store(&go, true);
    sender_send(&senders[0]);
    spin_until_count(&finished, count - 1);
    mark_end(bench->region);
    atomic_store(&leave, true);
    for (int i = 1; i < count; i++) {
        if (!thread_join(&senders[i].thread)) {
            fprintf(stderr, "msgbench: %s: a thread does not end\n", bench->name);
            return false;
        }
    }
    return senders_good(bench, count);
}

/* One call for each operation, each after a rest in which the receiver halts. The rest is not counted. */
static bool spaced_run(const struct msgbench_case *bench)
{
    struct sender *sender = &senders[0];
    struct kettle_messages one = sender->run;

    sender_prepare(sender);
    one.count = 1;
    for (uint32_t i = 0; i < sender->run.count; i++) {
        uint64_t begin = bench_now();
        int result;

        one.samples = sender->run.samples == NULL ? NULL : &sender->run.samples[i];
        while (bench_now() - begin < REST_NS) {
            for (int pause = 0; pause < 32; pause++)
                x86_pause();
        }
        mark_begin(bench->region);
        result = kettle_messages(&one);
        mark_end(bench->region);
        if (result != 0)
            return failed(bench, sender->kernel, errno);
    }
    return true;
}

/* Back to back and timed from outside; in one call when no times are wanted. */
static bool paced_run(const struct msgbench_case *bench)
{
    struct sender *sender = &senders[0];
    uint64_t *means = sender->run.samples;
    uint32_t batch = means == NULL ? sender->run.count : MSGBENCH_BATCH;
    uint32_t batches = sender->run.count / batch;
    bool good = true;

    sender->run.samples = NULL;
    sender_prepare(sender);
    sender->run.count = batch;
    mark_begin(bench->region);
    for (uint32_t i = 0; i < batches && good; i++) {
        uint64_t begin = means == NULL ? 0 : bench_now();

        good = kettle_messages(&sender->run) == 0;
        if (means != NULL)
            means[i] = (bench_now() - begin) / batch;
    }
    mark_end(bench->region);
    return good || failed(bench, sender->kernel, errno);
}

static bool call_run(const struct msgbench_case *bench, uint32_t count, bool times)
{
    mark_begin(bench->region);
    for (uint32_t i = 0; i < count; i += MSGBENCH_BATCH) {
        uint64_t begin = times ? bench_now() : 0;

        for (int j = 0; j < MSGBENCH_BATCH; j++)
            getppid();
        if (times)
            samples[i / MSGBENCH_BATCH] = (bench_now() - begin) / MSGBENCH_BATCH;
    }
    mark_end(bench->region);
    return true;
}

/* --- cases --- */

/* The kernels of the machine as a set, without KERNEL. */
static uint64_t set_without(const struct msgbench_machine *machine, int count, int kernel)
{
    uint64_t set = 0;

    for (int i = 0; i < count; i++) {
        if (machine->kernels[i] != kernel)
            set |= UINT64_C(1) << machine->kernels[i];
    }
    return set;
}

/* Fills in the senders' kernels and sets and returns how many senders there are. */
static int senders_place(const struct msgbench_case *bench, const struct msgbench_machine *machine, int kernels)
{
    int last = machine->kernels[machine->count - 1];
    int count = bench->shape == ALL_TO_ONE ? kernels - 1 : bench->shape == ALL_TO_ALL ? kernels : 1;

    for (int i = 0; i < count; i++) {
        struct sender *sender = &senders[i];

        *sender = (struct sender){.kernel = machine->kernels[i]};
        if (bench->shape == ONE_TO_ONE)
            sender->run.kernels = UINT64_C(1) << (bench->where == SAME_NODE ? machine->same_node : machine->other_node);
        else if (bench->shape == ALL_TO_ONE)
            sender->run.kernels = UINT64_C(1) << last;
        else
            sender->run.kernels = set_without(machine, kernels, sender->kernel);
    }
    return count;
}

bool msgbench_case_run(const struct msgbench_case *bench, const struct msgbench_machine *machine,
                       const struct msgbench_options *options, struct msgbench_result *result)
{
    uint32_t calls = calls_count(bench, options);
    int kernels = bench->kernels != 0 ? bench->kernels : machine->count;
    bool batches = bench->method == METHOD_PACED || bench->method == METHOD_CALL;
    uint32_t sender_samples = batches ? calls / MSGBENCH_BATCH : calls;
    int count = bench->method == METHOD_CALL ? 1 : senders_place(bench, machine, kernels);
    bool spinning = bench->peer == PEER_RUNNING;
    bool good;

    *result = (struct msgbench_result){.count = (uint64_t)calls * (uint64_t)count, .kernels = kernels};
    if (bench->operation == KETTLE_MESSAGES_ONE_WAY && (bench->shape == ONE_TO_ALL || bench->shape == ALL_TO_ALL))
        result->count *= (uint64_t)kernels - 1;
    result->sample_count = options->times ? (size_t)sender_samples * (size_t)count : 0;
    if (!samples_make(result->sample_count) || !peers_prepare(bench->peer))
        return false;
    result->samples = samples;
    if (bench->method == METHOD_CALL)
        return call_run(bench, calls, options->times);
    for (int i = 0; i < count; i++) {
        struct kettle_messages *run = &senders[i].run;

        run->operation = bench->operation;
        run->size = bench->bytes;
        run->count = calls;
        run->seed = options->seed;
        run->samples = samples == NULL ? NULL : samples + (size_t)i * sender_samples;
    }
    if (spinning && !spinner_begin(bench->where == SAME_NODE ? machine->same_node : machine->other_node))
        return false;
    if (bench->method == METHOD_SPACED)
        good = spaced_run(bench);
    else if (bench->method == METHOD_PACED)
        good = paced_run(bench);
    else
        good = senders_run(bench, count);
    return good && (!spinning || spinner_end());
}
