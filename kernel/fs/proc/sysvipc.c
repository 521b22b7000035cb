/* /proc/sysvipc: a line for each System V object, whoever may use it, as in sysvipc(7). Kernel 0 is asked for one
 * object at a time, by index. */
#include "kernel/fs/proc/sysvipc.h"

#include "kernel/abi/errno.h"
#include "kernel/ipc/call.h"
#include "kernel/ipc/sysv/shm.h"
#include "mm/frame/heap.h"

#define SECOND 1000000000ul
#define LINE_MAX 512u
#define SMALL_TEXT 4096u

typedef unsigned long ulong;

/* Finds the next set or queue at or after *INDEX, and moves *INDEX behind it. -EINVAL: there are no more. */
static int64_t next_facts(enum ipc_operation operation, int32_t *index, struct ipc_facts *facts)
{
    struct ipc_call call = {.operation = operation, .id = *index, .flags = IPC_NEXT};
    struct file_answer answer;
    int64_t id = ipc_ask(&call, sizeof(call), facts, sizeof(*facts), &answer);

    if (id >= 0)
        *index = (int32_t)((uint32_t)id % IPC_SLOTS) + 1;
    return id;
}

static int64_t end(struct text *text, int64_t error)
{
    if (error == -EINVAL)
        return 0;
    heap_free(text->bytes, text->size);
    return error;
}

/* The number whose decimal digits are MODE in octal. */
static uint32_t octal(uint32_t mode)
{
    uint32_t digits = 0;

    for (uint32_t unit = 1; mode != 0; mode >>= 3, unit *= 10)
        digits += (mode & 7) * unit;
    return digits;
}

static int64_t begin_line(struct text *text, const struct ipc_facts *facts, int64_t id)
{
    int64_t error = proc_text_grow(text, LINE_MAX);

    if (error == 0)
        text_put(text, "%10d %10d  %4u ", facts->key, (int)id, octal(facts->mode));
    return error;
}

static void put_owner(struct text *text, const struct ipc_facts *facts)
{
    text_put(text, "%5u %5u %5u %5u ", facts->uid, facts->gid, facts->creator_uid, facts->creator_gid);
}

static int64_t write_queues(const struct proc_at *at, struct text *text)
{
    int64_t error = proc_text(text, SMALL_TEXT), id;
    struct ipc_facts facts;
    int32_t index = 0;

    (void)at;
    if (error != 0)
        return error;
    text_put(text,
             "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      "
             "rtime      ctime\n");
    while ((id = next_facts(IPC_MSG_CONTROL, &index, &facts)) >= 0 && (error = begin_line(text, &facts, id)) == 0) {
        text_put(text, " %10lu %10lu %5u %5u ", (ulong)facts.bytes, (ulong)facts.count, facts.pid_in, facts.pid_out);
        put_owner(text, &facts);
        text_put(text, "%10lu %10lu %10lu\n", (ulong)facts.done_in / SECOND, (ulong)facts.done_out / SECOND,
                 (ulong)facts.changed / SECOND);
    }
    return end(text, error != 0 ? error : id);
}

static int64_t write_sets(const struct proc_at *at, struct text *text)
{
    int64_t error = proc_text(text, SMALL_TEXT), id;
    struct ipc_facts facts;
    int32_t index = 0;

    (void)at;
    if (error != 0)
        return error;
    text_put(text, "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n");
    while ((id = next_facts(IPC_SEM_CONTROL, &index, &facts)) >= 0 && (error = begin_line(text, &facts, id)) == 0) {
        text_put(text, "%10u ", facts.count);
        put_owner(text, &facts);
        text_put(text, "%10lu %10lu\n", (ulong)facts.done_in / SECOND, (ulong)facts.changed / SECOND);
    }
    return end(text, error != 0 ? error : id);
}

static int64_t write_segments(const struct proc_at *at, struct text *text)
{
    int64_t error = proc_text(text, SMALL_TEXT), id;
    struct ipc_call call = {.operation = IPC_SHM_CONTROL, .flags = SHM_NEXT};
    struct shm_answer answer;

    (void)at;
    if (error != 0)
        return error;
    text_put(
        text,
        "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime    "
        "  dtime      ctime                   rss                  swap\n");
    while ((id = shm_ask(&call, NULL, &answer)) >= 0 && (error = begin_line(text, &answer.facts, id)) == 0) {
        text_put(text, "%21lu %5u %5u  %5u ", (ulong)answer.size, answer.facts.pid_in, answer.facts.pid_out,
                 answer.facts.count);
        put_owner(text, &answer.facts);
        text_put(text, "%10lu %10lu %10lu %21lu %21lu\n", (ulong)answer.facts.done_in / SECOND,
                 (ulong)answer.facts.done_out / SECOND, (ulong)answer.facts.changed / SECOND,
                 (ulong)(answer.resident * PAGE_SIZE), 0ul);
        call.id = (int32_t)((uint32_t)id % IPC_SLOTS) + 1;
    }
    return end(text, error != 0 ? error : id);
}

static int64_t write_number(struct text *text, ulong number)
{
    int64_t error = proc_text(text, SMALL_TEXT);

    if (error == 0)
        text_put(text, "%lu\n", number);
    return error;
}

int64_t proc_write_shm_max(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_number(text, SHM_MAX);
}

int64_t proc_write_shm_all(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_number(text, SHM_MAX);
}

int64_t proc_write_shm_count(const struct proc_at *at, struct text *text)
{
    (void)at;
    return write_number(text, IPC_OBJECTS_MAX);
}

static const struct proc_row rows[] = {
    {.name = "msg", .write = write_queues},
    {.name = "sem", .write = write_sets},
    {.name = "shm", .write = write_segments},
};

const struct proc_directory proc_ipc_directory = {.rows = rows, .count = sizeof(rows) / sizeof(rows[0])};
