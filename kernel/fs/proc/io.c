/* /proc/PID/io and /proc/PID/task/TID/io, as in proc(5). There is no disk, so read_bytes and write_bytes are always 0;
 * as in Linux, directories of the host do not count as disks. */
#include "kernel/abi/errno.h"
#include "kernel/fs/proc/process_text.h"
#include "mm/frame/heap.h"
#include "tasks/account/facts.h"
#include "tasks/account/usage.h"
#include "tasks/process/permission.h"

#define IO_TEXT 512u

static int64_t of_thread(uint32_t process, uint32_t tid, struct account_io *io)
{
    struct process_facts facts;
    struct thread_facts thread;
    struct account account;
    int error = process_facts_of(process, &facts);

    if (error != 0)
        return error;
    if (!survey_thread(&facts, tid, &thread))
        return -ESRCH;
    survey_account(process, &thread, &account);
    *io = account.io;
    return 0;
}

int64_t proc_write_io(const struct proc_at *at, struct text *text)
{
    uint32_t process = (uint32_t)at->keys[0], thread = (uint32_t)at->keys[1];
    struct account_io io = {0};
    uint64_t peak;
    int64_t error = credentials_may_reach(process, true);

    if (error == -EPERM)
        error = -EACCES;
    if (error == 0)
        error = thread != 0 ? of_thread(process, thread, &io) : usage_of_files(process, &io, &peak);
    if (error == 0)
        error = proc_text(text, IO_TEXT);
    if (error != 0)
        return error;
    text_put(text, "rchar: %lu\nwchar: %lu\nsyscr: %lu\nsyscw: %lu\n", (unsigned long)io.read_bytes,
             (unsigned long)io.write_bytes, (unsigned long)io.reads, (unsigned long)io.writes);
    text_put(text, "read_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n");
    return 0;
}
