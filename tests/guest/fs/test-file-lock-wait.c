/* test-file-lock-wait: who waits for locks of files, and for whom, while others let go, close and end. The files have
 * no names; every process has them from the first. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PATIENCE 60 /* s; only what fails takes that long */

struct shared {
    atomic_int ready, go, done;
};

static struct shared *shared;
static int fd;
static int kernel_of_child;

static int lock(int file, int command, int type, long start, long length)
{
    struct flock range = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};

    return fcntl(file, command, &range);
}

static void begin(void)
{
    fd = memfd_create("test", 0);
    shared = mmap(NULL, PAGE, READ_WRITE, SHARED, -1, 0);
    CHECK(fd >= 0 && shared != MAP_FAILED, "%s", strerror(errno));
}

static void end(void)
{
    close(fd);
    munmap(shared, PAGE);
    kernels_go(0);
}

static void nothing(int signal)
{
    (void)signal;
}

/* A call that waits for ever ends with EINTR after all. */
static void set_alarm(long seconds)
{
    const struct sigaction action = {.sa_handler = nothing};
    const struct itimerval often = {{1, 0}, {seconds, 0}}, never = {{0, 0}, {0, 0}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, seconds != 0 ? &often : &never, NULL);
}

/* PROCESS, which is about to wait, waits. */
static void wait_asleep(pid_t process)
{
    char name[32], text[512], *state = NULL;

    snprintf(name, sizeof(name), "/proc/%d/stat", process);
    while (state == NULL || state[2] != 'S') {
        int file = open(name, O_RDONLY);
        ssize_t got = file >= 0 ? read(file, text, sizeof(text) - 1) : -1;

        if (file >= 0)
            close(file);
        if (!CHECK(got > 0, "%s: %s", name, strerror(errno)))
            return;
        text[got] = '\0';
        state = strrchr(text, ')');
        sched_yield();
    }
}

static pid_t start(int (*body)(void))
{
    pid_t child = fork();

    if (child == 0)
        _exit(body());
    CHECK(child > 0, "%s", strerror(errno));
    return child;
}

static int end_of(pid_t child)
{
    int status = -1;

    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status), "status %x", status);
    return WEXITSTATUS(status);
}

static bool wait_until(atomic_int *value, int goal)
{
    return CHECK(thread_wait(value, goal), "%d of %d", atomic_load(value), goal);
}

/* --- no circle --- */

/* Has byte 1, and waits for byte 0. */
static int takes_both(void)
{
    kernels_go(kernel_of_child);
    if (lock(fd, F_SETLK, F_WRLCK, 1, 1) != 0)
        return 1;
    atomic_store(&shared->ready, 1);
    if (lock(fd, F_SETLKW, F_WRLCK, 0, 1) != 0)
        return 2;
    return lock(fd, F_SETLK, F_UNLCK, 0, 2) == 0 ? 0 : 3;
}

/* Who was waited for lets go, and waits for who waited: that is no circle any more, though the other one may not know
 * yet that it has what it wanted. */
static void test_handed_on(void)
{
    for (int r = 0; r < 5 * kernels_count(); r++) {
        int k = r % kernels_count();
        pid_t child;

        begin();
        kernel_of_child = k + 1;
        CHECK(lock(fd, F_SETLK, F_WRLCK, 0, 1) == 0, "%s", strerror(errno));
        child = start(takes_both);
        kernels_go(k);
        if (wait_until(&shared->ready, 1)) {
            wait_asleep(child);
            CHECK(lock(fd, F_SETLK, F_UNLCK, 0, 1) == 0, "%s", strerror(errno));
            CHECK(lock(fd, F_SETLKW, F_WRLCK, 1, 1) == 0, "from %d: %s", k, strerror(errno));
        }
        CHECK(end_of(child) == 0, "the child");
        end();
    }
}

static void wait_gone(int goal)
{
    while (atomic_load(&shared->go) < goal)
        sched_yield();
}

/* Has byte 1, and waits for bytes 0 to 19, of which its parent has the first and an open file another. */
static int behind_open_file(void)
{
    kernels_go(kernel_of_child);
    if (lock(fd, F_SETLK, F_WRLCK, 1, 1) != 0)
        return 1;
    atomic_store(&shared->ready, 1);
    return lock(fd, F_SETLKW, F_WRLCK, 0, 20) == 0 ? 0 : 2;
}

/* Who has to wait for an open file's lock only waits for no process any more. */
static void test_open_file(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        pid_t child;

        begin();
        kernel_of_child = k + 1;
        CHECK(lock(fd, F_SETLK, F_WRLCK, 0, 1) == 0 && lock(fd, F_OFD_SETLK, F_WRLCK, 10, 1) == 0, "%s",
              strerror(errno));
        child = start(behind_open_file);
        kernels_go(k);
        if (wait_until(&shared->ready, 1)) {
            wait_asleep(child);
            CHECK(lock(fd, F_SETLK, F_UNLCK, 0, 1) == 0, "%s", strerror(errno));
            set_alarm(1);
            CHECK_ERROR(lock(fd, F_SETLKW, F_WRLCK, 1, 1), EINTR);
            set_alarm(0);
        }
        CHECK(lock(fd, F_OFD_SETLK, F_UNLCK, 10, 1) == 0 && end_of(child) == 0, "%s", strerror(errno));
        end();
    }
}

/* --- a circle --- */

static void waits_for_zero(struct thread *thread)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

    thread_move(thread->index);
    atomic_store(&shared->ready, 1);
    thread->result = x86_syscall3(SYS_fcntl, fd, F_SETLKW, (long)&range);
}

/* Has byte 1; one thread waits for byte 0 while the other closes another descriptor of a file. */
static int closes_meanwhile(void)
{
    struct thread waiter = {.index = 0};
    int kernels[64], count = tap_kernels(kernels);

    waiter.index = kernels[kernel_of_child % count];
    if (lock(fd, F_SETLK, F_WRLCK, 1, 1) != 0 || !thread_start(&waiter, waits_for_zero))
        return 1;
    wait_gone(1);
    if (close(memfd_create("another", 0)) != 0)
        return 2;
    atomic_store(&shared->ready, 2);
    if (!thread_join(&waiter))
        return 3;
    return waiter.result == 0 ? 0 : waiter.result == -EDEADLK ? 10 : 4;
}

/* A circle is found though a process closed a file while it waited. */
static void test_closed_meanwhile(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int result = -1, ended;
        pid_t child;

        begin();
        kernel_of_child = k + 1;
        CHECK(lock(fd, F_SETLK, F_WRLCK, 0, 1) == 0, "%s", strerror(errno));
        child = start(closes_meanwhile);
        kernels_go(k);
        wait_until(&shared->ready, 1);
        usleep(50000); /* so that the thread waits by now; when it is only about to, it closes the circle later */
        atomic_store(&shared->go, 1);
        if (wait_until(&shared->ready, 2)) {
            set_alarm(PATIENCE);
            result = lock(fd, F_SETLKW, F_WRLCK, 1, 1);
            CHECK(result == 0 || errno == EDEADLK, "%s", strerror(errno));
            set_alarm(0);
        }
        CHECK(lock(fd, F_SETLK, F_UNLCK, 0, 1) == 0, "%s", strerror(errno));
        ended = end_of(child);
        CHECK(ended == (result == 0 ? 10 : 0), "%d, and the child: %d", result, ended);
        end();
    }
}

/* --- a close while another thread locks --- */

#define ROUNDS 40

static struct racing {
    atomic_int round, ended;
    int kernel, file;
} racing;

static void locks_again(struct thread *thread)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

    thread_move(racing.kernel);
    for (int r = 1; r <= ROUNDS; r++) {
        long result;

        while (atomic_load(&racing.round) < r)
            x86_syscall0(SYS_sched_yield);
        do /* from the second time on, this kernel knows the file, and does not ask the home for it */
            result = x86_syscall3(SYS_fcntl, racing.file, F_SETLK, (long)&range);
        while (result == 0);
        if (result != -EBADF)
            thread->result = result;
        atomic_store(&racing.ended, r);
    }
}

/* Is another process, which has the same open file, and so keeps it open. */
static int looks(void)
{
    int left = 0;

    kernels_go(kernel_of_child);
    for (int r = 1; r <= ROUNDS; r++) {
        struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

        wait_gone(r);
        if (fcntl(fd, F_GETLK, &range) != 0 || range.l_type != F_UNLCK)
            left++;
        atomic_store(&shared->done, r);
    }
    return left;
}

static void race(int k)
{
    struct thread other = {.index = 0};
    int kernels[64], count = tap_kernels(kernels), result;
    pid_t child;

    begin();
    kernel_of_child = k;
    racing = (struct racing){.kernel = kernels[(k + 1) % count]};
    child = start(looks);
    kernels_go(k);
    if (CHECK(thread_start(&other, locks_again), "%s", strerror(errno))) {
        for (int r = 1; r <= ROUNDS; r++) {
            racing.file = dup(fd);
            atomic_store(&racing.round, r);
            for (int i = 0; i < (r * 7) % 40; i++)
                x86_syscall0(SYS_getppid);
            CHECK(close(racing.file) == 0, "%s", strerror(errno));
            if (!wait_until(&racing.ended, r))
                break;
            atomic_store(&shared->go, r);
            if (!wait_until(&shared->done, r))
                break;
        }
        CHECK(thread_join(&other) && other.result == 0, "%ld", atomic_load(&other.result));
    }
    result = end_of(child);
    CHECK(result == 0, "from %d: %d locks outlived the descriptor", k, result);
    end();
}

static void test_race(void)
{
    for (int k = 0; k < kernels_count(); k++)
        race(k);
}

static const struct tap_test tests[] = {
    {"handed-on", "a lock that was released is not part of a deadlock", test_handed_on},
    {"open-file", "a lock of an open file is not part of a deadlock", test_open_file},
    {"closed-meanwhile", "a deadlock is found though a waiting process closes another file", test_closed_meanwhile},
    {"race", "no lock outlives the close of the descriptor by which it was taken", test_race},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
