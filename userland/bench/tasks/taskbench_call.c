/* taskbench: calls of which another kernel than the caller's has a part: waking nobody by a word that only the process
 * uses, opening and closing a file, and saying where the list of robust locks is. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "userland/bench/tasks/taskbench.h"
#include "userland/x86.h"

#define WAKE_PRIVATE 129
#define WARM_UP 4

int taskbench_run_wake_nobody(const struct taskbench_case *bench, uint32_t count)
{
    static int word;
    int error = taskbench_need_futex();

    (void)bench;
    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        long result;

        if (i >= WARM_UP)
            bench_begin();
        result = x86_syscall3(SYS_futex, (long)&word, WAKE_PRIVATE, 1);
        if (i >= WARM_UP)
            bench_end();
        if (result != 0)
            error = bench_failed("futex", result < 0 ? (int)-result : EPROTO);
    }
    return error;
}

int taskbench_run_open_close(const struct taskbench_case *bench, uint32_t count)
{
    int error = 0;

    (void)bench;
    for (uint32_t i = 0; i < count + WARM_UP && error == 0; i++) {
        long fd, result;

        if (i >= WARM_UP)
            bench_begin();
        fd = x86_syscall3(SYS_open, (long)"/", O_RDONLY, 0);
        result = fd >= 0 ? x86_syscall3(SYS_close, fd, 0, 0) : fd;
        if (i >= WARM_UP)
            bench_end();
        if (result != 0)
            error = bench_failed("open and close", (int)-result);
    }
    return error;
}

/* Sets the list of a thread that has none, as every thread of glibc does once. */
int taskbench_run_set_robust(const struct taskbench_case *bench, uint32_t count)
{
    static struct {
        void *next;
        long offset;
        void *pending;
    } list = {.next = &list};
    long before = 0, size = 0, result = x86_syscall3(SYS_get_robust_list, 0, (long)&before, (long)&size);

    (void)bench;
    for (uint32_t i = 0; i < count + WARM_UP && result == 0; i++) {
        result = x86_syscall3(SYS_set_robust_list, 0, sizeof(list), 0);
        if (i >= WARM_UP)
            bench_begin();
        if (result == 0)
            result = x86_syscall3(SYS_set_robust_list, (long)&list, sizeof(list), 0);
        if (i >= WARM_UP)
            bench_end();
    }
    if (result == 0)
        result = x86_syscall3(SYS_set_robust_list, before, sizeof(list), 0);
    return result == 0 ? 0 : bench_failed("set_robust_list", (int)-result);
}
