/* vmbench: the messages that the operations of a case have sent. */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "userland/bench/message_counts.h"
#include "userland/bench/vm/vmbench.h"

static struct {
    bool read;
    struct message_counts before, after;
} * shared;

bool vmbench_messages_share(void)
{
    void *memory = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    shared = memory;
    return true;
}

void vmbench_messages_clear(void)
{
    shared->read = false;
}

/* Reads into both, and then again: the first times everything that reading needs comes to where this thread is, also
 * the pages that are written to. */
int vmbench_messages_begin(void)
{
    bench_measure_warm_up();
    if (bench_machine.usual != HOW_MIGRATE || bench_machine.count == 1)
        return 0;
    if (!message_counts_read(&shared->after) || !message_counts_read(&shared->before) ||
        !message_counts_read(&shared->before))
        return bench_failed("reading /proc/kettle/messages", errno);
    return 0;
}

int vmbench_messages_end(void)
{
    if (bench_machine.usual != HOW_MIGRATE || bench_machine.count == 1)
        return 0;
    if (!message_counts_read(&shared->after))
        return bench_failed("reading /proc/kettle/messages", errno);
    message_counts_since(&shared->after, &shared->before);
    shared->read = true;
    return 0;
}

void vmbench_messages_json(void)
{
    if (shared->read)
        message_counts_json(&shared->after);
    else
        fputs("null", stdout);
}
