/* msgbench flood: messages from every kernel to every other at once, and an account of what has arrived.
 *
 * One thread on each kernel sends one-way messages of mixed sizes and classes to all others. The call that sends
 * returns when its messages were handled, so once all threads have met again the kernels' tallies are final; each
 * thread reads its own kernel's, before and after, as they count since boot. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "libc/kettle.h"
#include "userland/bench/bench.h"
#include "userland/bench/msg/msgbench.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define URGENT_BYTES 48 /* what an urgent message carries */
#define BURST_MAX 64    /* messages of one size and class in a row, to each kernel */
#define DIFFERENCES_SHOWN 10

struct account {
    struct thread thread;
    int kernel;
    const char *failure;                              /* the call that failed, or NULL */
    int error;                                        /* its errno */
    uint64_t messages;                                /* sent to each other kernel */
    uint64_t bytes;                                   /* their payload */
    struct kettle_tally before[MSGBENCH_KERNELS_MAX]; /* from each kernel, in the order of the machine */
    struct kettle_tally after[MSGBENCH_KERNELS_MAX];
};

static struct account accounts[MSGBENCH_KERNELS_MAX];
static const struct msgbench_machine *flooded;
static uint64_t flood_seed;
static uint64_t messages_each; /* from each kernel to each other */
static atomic_int gate;        /* threads that have come to the meetings, all counted */
static atomic_bool broken;     /* a call has failed: nobody goes on */

/* The ROUND-th meeting of all threads, from 1. Yields, as at first all are on one kernel. */
static void meet(int round)
{
    atomic_fetch_add(&gate, 1);
    while (atomic_load_explicit(&gate, memory_order_acquire) < round * flooded->count) {
        x86_pause();
        x86_syscall0(SYS_sched_yield);
    }
}

static void account_fail(struct account *account, const char *failure)
{
    account->error = errno;
    account->failure = failure;
    atomic_store(&broken, true);
}

static void tallies_read(struct account *account, struct kettle_tally *tallies)
{
    for (int i = 0; i < flooded->count && !atomic_load(&broken); i++) {
        if (flooded->kernels[i] != account->kernel && kettle_tally(flooded->kernels[i], &tallies[i]) != 0)
            account_fail(account, "kettle_tally");
    }
}

/* A number that depends on every bit of SEED and INDEX. */
static uint64_t scramble(uint64_t seed, uint64_t index)
{
    uint64_t value = (seed ^ index) * UINT64_C(0x9e3779b97f4a7c15);

    value ^= value >> 29;
    value *= UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 32;
}

/* Three quarters of all bursts are of one full slot; the rest are empty, of several slots, and of a page. */
static uint32_t burst_bytes(uint64_t random)
{
    switch (random % 16) {
    case 0:
    case 1:
        return 0;
    case 2:
        return 256;
    case 3:
        return 4096;
    default:
        return 48;
    }
}

static void messages_send(struct account *account, uint64_t others)
{
    for (uint64_t burst = 0; account->messages < messages_each && !atomic_load(&broken); burst++) {
        uint64_t random = scramble(flood_seed ^ (uint64_t)account->kernel << 32, burst);
        uint32_t bytes = burst_bytes(random);
        uint64_t count = (random >> 8) % (bytes > URGENT_BYTES ? BURST_MAX / 8 : BURST_MAX) + 1;
        uint64_t left = messages_each - account->messages;
        struct kettle_messages run = {.operation = KETTLE_MESSAGES_ONE_WAY,
                                      .size = bytes,
                                      .kernels = others,
                                      .count = (uint32_t)(count < left ? count : left),
                                      .urgent = bytes == URGENT_BYTES && (random >> 16) % 4 == 0,
                                      .seed = random | 1}; /* 0 would be unchecked */

        if (kettle_messages(&run) != 0) {
            account_fail(account, "kettle_messages");
            return;
        }
        account->messages += run.count;
        account->bytes += (uint64_t)run.count * bytes;
    }
}

static void account_run(struct account *account)
{
    uint64_t others = 0;

    for (int i = 0; i < flooded->count; i++) {
        if (flooded->kernels[i] != account->kernel)
            others |= UINT64_C(1) << flooded->kernels[i];
    }
    tallies_read(account, account->before);
    meet(1);
    messages_send(account, others);
    meet(2);
    tallies_read(account, account->after);
}

static void account_main(struct thread *thread)
{
    struct account *account = thread->argument;
    long moved = thread_move(account->kernel);

    if (moved != 0) {
        errno = (int)-moved;
        account_fail(account, "kettle_migrate");
    }
    account_run(account);
}

static bool calls_good(void)
{
    bool good = true;

    for (int i = 0; i < flooded->count; i++) {
        const struct account *account = &accounts[i];

        if (account->failure != NULL) {
            fprintf(stderr, "msgbench: flood: %s on kernel %d: %s\n", account->failure, account->kernel,
                    strerror(account->error));
            good = false;
        }
    }
    return good;
}

/* What kernel number TO of the machine has received from number FROM during the flood. */
static struct kettle_tally received(int to, int from)
{
    const struct kettle_tally *before = &accounts[to].before[from];
    const struct kettle_tally *after = &accounts[to].after[from];

    return (struct kettle_tally){.messages = after->messages - before->messages,
                                 .bytes = after->bytes - before->bytes,
                                 .out_of_order = after->out_of_order - before->out_of_order,
                                 .wrong_content = after->wrong_content - before->wrong_content};
}

/* Adds what arrived to TOTAL, says what differs from what was sent, and returns for how many pairs something does. */
static int pairs_check(struct kettle_tally *total)
{
    int bad = 0;

    for (int to = 0; to < flooded->count; to++) {
        for (int from = 0; from < flooded->count; from++) {
            const struct account *sender = &accounts[from];
            struct kettle_tally got = received(to, from);

            if (to == from)
                continue;
            total->messages += got.messages;
            total->bytes += got.bytes;
            total->out_of_order += got.out_of_order;
            total->wrong_content += got.wrong_content;
            if (got.messages == sender->messages && got.bytes == sender->bytes && got.out_of_order == 0 &&
                got.wrong_content == 0)
                continue;
            if (bad++ < DIFFERENCES_SHOWN)
                fprintf(stderr,
                        "msgbench: flood: kernel %d received from kernel %d %" PRIu64 " of %" PRIu64
                        " messages, %" PRIu64 " of %" PRIu64 " bytes, %" PRIu64 " out of order, %" PRIu64
                        " with wrong content\n",
                        accounts[to].kernel, sender->kernel, got.messages, sender->messages, got.bytes, sender->bytes,
                        got.out_of_order, got.wrong_content);
        }
    }
    return bad;
}

static int flood_report(uint64_t nanoseconds, bool json)
{
    struct kettle_tally total = {0};
    int bad = pairs_check(&total);
    uint64_t sent = 0;

    for (int i = 0; i < flooded->count; i++)
        sent += accounts[i].messages * (uint64_t)(flooded->count - 1);
    if (json)
        printf("{\"case\": \"flood\", \"kernels\": %d, \"seed\": %" PRIu64 ", \"sent\": %" PRIu64
               ", \"received\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"out_of_order\": %" PRIu64
               ", \"wrong_content\": %" PRIu64 ", \"pairs_wrong\": %d, \"ns\": [%" PRIu64 "]}\n",
               flooded->count, flood_seed, sent, total.messages, total.bytes, total.out_of_order, total.wrong_content,
               bad, nanoseconds);
    else
        printf("flood: %d kernels, seed %" PRIu64 ": %" PRIu64 " messages sent, %" PRIu64 " received (%" PRIu64
               " bytes), %" PRIu64 " out of order, %" PRIu64 " with wrong content, %.3f s\n",
               flooded->count, flood_seed, sent, total.messages, total.bytes, total.out_of_order, total.wrong_content,
               (double)nanoseconds / 1e9);
    if (bad == 0)
        return 0;
    fprintf(stderr, "msgbench: flood: %d of %d pairs of kernels differ\n", bad, flooded->count * (flooded->count - 1));
    return 1;
}

int msgbench_flood(const struct msgbench_machine *machine, uint64_t messages, uint64_t seed, bool json)
{
    uint64_t pairs = (uint64_t)machine->count * (uint64_t)(machine->count - 1);
    uint64_t begin = bench_now();

    if (pairs == 0) {
        fputs("msgbench: flood needs a second kernel\n", stderr);
        return 1;
    }
    flooded = machine;
    flood_seed = seed;
    messages_each = (messages + pairs - 1) / pairs;
    for (int i = 0; i < machine->count; i++) {
        accounts[i].kernel = machine->kernels[i];
        accounts[i].thread = (struct thread){.index = i, .argument = &accounts[i]};
        if (i > 0 && !thread_start(&accounts[i].thread, account_main)) {
            fprintf(stderr, "msgbench: flood: no thread: %s\n", strerror(errno));
            return 1;
        }
    }
    account_run(&accounts[0]);
    for (int i = 1; i < machine->count; i++) {
        if (!thread_join(&accounts[i].thread)) {
            fputs("msgbench: flood: a thread does not end\n", stderr);
            return 1;
        }
    }
    return calls_good() ? flood_report(bench_now() - begin, json) : 1;
}
