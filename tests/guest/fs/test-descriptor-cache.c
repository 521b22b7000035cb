/* test-descriptor-cache: kernels remember which file a descriptor of a process at home elsewhere is
 * (kernel/file/descriptor_cache.h). Threads on all kernels use one descriptor while others make it another file, close
 * it, set limits and locks; what they find is never older than what was there when they began. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define FILES 16
#define STEPS 160
#define FD 100
#define NAME "/tmp/descriptor-cache"

/* At step s FD is file s / 2 % FILES if s is even, and closed if it is odd. One thread makes the steps; ENDED is the
 * last one that has been made, BEGUN the last one that has begun. */
static struct {
    int files[FILES];
    atomic_long begun, ended;
    atomic_long looks[KERNELS_MAX];
    atomic_int ready, over;
    bool closes; /* else odd steps do nothing */
} board;

static int open_files(void)
{
    for (int i = 0; i < FILES; i++) {
        char byte = (char)i;

        board.files[i] = open(NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (board.files[i] < 0 || write(board.files[i], &byte, 1) != 1 || unlink(NAME) != 0)
            return 1;
    }
    return 0;
}

/* FILE, or -1 for closed, is what FD was at one of the steps from FIRST to LAST. */
static bool was(int file, long first, long last)
{
    for (long step = first; step <= last; step++) {
        if (step % 2 != 0 ? board.closes && file == -1 : file == (int)(step / 2 % FILES))
            return true;
    }
    return false;
}

/* Looks what file FD is, on the kernel of its number, until the steps are over. The result: 0, or what was wrong. */
static void look(struct thread *thread)
{
    long error = thread_move(thread->index);

    atomic_fetch_add(&board.ready, 1);
    while (error == 0 && atomic_load(&board.over) == 0) {
        long ended = atomic_load(&board.ended);
        unsigned char byte = 0xff;
        long got = x86_syscall(SYS_pread64, FD, (long)&byte, 1, 0, 0, 0);
        long begun = atomic_load(&board.begun);

        if (got != 1 && got != -EBADF)
            error = 1000000 - got;
        else if (!was(got == 1 ? byte : -1, ended, begun))
            error = 2000000 + ended * 100 + (got == 1 ? byte : 99);
        atomic_fetch_add(&board.looks[thread->index], 1);
        x86_pause();
    }
    atomic_store(&thread->result, error);
}

/* Every thread that still looks has begun and ended a look. */
static void all_look(struct thread *threads, int count)
{
    for (int i = 0; i < count; i++) {
        long least = atomic_load(&board.looks[i]) + 2;

        while (atomic_load(&board.looks[i]) < least && atomic_load(&threads[i].result) == 0) {
            x86_syscall0(SYS_sched_yield);
            x86_pause();
        }
    }
}

/* The threads end. Returns WRONG, or what was wrong with one of them. */
static int all_end(struct thread *threads, int count, int wrong)
{
    atomic_store(&board.over, 1);
    for (int i = 0; i < count; i++) {
        if (!thread_join(&threads[i]))
            return 105;
        if (atomic_load(&threads[i].result) != 0) {
            fprintf(stderr, "# kernel %d: %ld\n", i, atomic_load(&threads[i].result));
            wrong = 106;
        }
    }
    return wrong;
}

static int step(long number, bool closes)
{
    long result = 0;

    atomic_store(&board.begun, number);
    if (number % 2 == 0)
        result = x86_syscall3(SYS_dup2, board.files[number / 2 % FILES], FD, 0) - FD;
    else if (closes)
        result = x86_syscall1(SYS_close, FD);
    atomic_store(&board.ended, number);
    return result == 0 ? 0 : 103;
}

static int change_all(void *context)
{
    static struct thread threads[KERNELS_MAX];
    int count = kernels_count(), home = *(int *)context % KERNELS_MAX, wrong = 0;
    bool closes = *(int *)context >= KERNELS_MAX;

    board.closes = closes;
    kernels_go(home);
    if (open_files() != 0 || dup2(board.files[0], FD) != FD)
        return 100;
    for (int i = 0; i < count; i++) {
        threads[i].index = i;
        if (!thread_start(&threads[i], look))
            return 101;
    }
    if (!thread_wait(&board.ready, count))
        return 102;
    for (long number = closes ? 1 : 2; number <= STEPS && wrong == 0; number += closes ? 1 : 2) {
        if (number % 50 == 0)
            kernels_go(home + number / 50); /* the change comes from elsewhere than the home, too */
        wrong = step(number, closes);
        if (number % 10 < 2)
            all_look(threads, count);
    }
    return all_end(threads, count, wrong);
}

static void change_at_homes(bool closes)
{
    for (int home = 0; home < kernels_count(); home += 3) {
        int context = home + (closes ? KERNELS_MAX : 0), end;

        kernels_go(home);
        end = tap_fork(change_all, &context);
        CHECK(end == 0, "home %d: %d", home, end);
    }
    kernels_go(0);
}

static void test_replace(void)
{
    change_at_homes(false);
}

static void test_close(void)
{
    change_at_homes(true);
}

/* What follows is of a process at home on kernel HOME whose only thread uses the file on all kernels, and so has it
 * in the cache of each. */
static int cache_everywhere(int fd, int home)
{
    char byte;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        if (pread(fd, &byte, 1, 0) < 0 || pwrite(fd, "x", 1, 0) != 1)
            return 1;
    }
    kernels_go(home);
    return 0;
}

static int limit_body(void *context)
{
    int home = *(int *)context, fd = open(NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct rlimit limit = {4096, RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    if (fd < 0 || cache_everywhere(fd, home) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        if (pwrite(fd, "yy", 2, 4095) != 1) /* what fits */
            return 10 + k;
        if (pwrite(fd, "y", 1, 4096) != -1 || errno != EFBIG)
            return 30 + k;
    }
    return unlink(NAME) == 0 ? 0 : 2;
}

static void test_limit(void)
{
    for (int home = 0; home < kernels_count(); home += 3) {
        int end;

        kernels_go(home);
        end = tap_fork(limit_body, &home);
        CHECK(end == 0, "home %d: %d", home, end);
    }
    kernels_go(0);
}

/* True when another process could lock NAME. */
static bool is_free(void)
{
    struct flock lock = {.l_type = F_WRLCK};
    int fd = open(NAME, O_RDWR);
    bool free = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;

    close(fd);
    return free;
}

static int locked, unlocked; /* ends of pipes */

struct lock_case {
    int home, kernel;
    bool flocks; /* by another kind of lock before, of which the home need not know */
};

/* Reads put the file into a kernel's cache before the process has any lock; then it locks there, and closes elsewhere.
 */
static int lock_body(void *context)
{
    const struct lock_case *bench = context;
    struct flock lock = {.l_type = F_WRLCK};
    int fd = open(NAME, O_RDWR), other = open(NAME, O_RDONLY);
    char byte = 0;

    if (fd < 0 || other < 0 || cache_everywhere(fd, bench->home) != 0)
        return 1;
    kernels_go(bench->kernel);
    if (bench->flocks && (flock(fd, LOCK_EX) != 0 || flock(fd, LOCK_UN) != 0))
        return 2;
    if (fcntl(fd, F_SETLK, &lock) != 0 || write(unlocked, &byte, 1) != 1 || read(locked, &byte, 1) != 1)
        return 3;
    kernels_go(bench->kernel + 1);
    if (close(other) != 0) /* any descriptor of it */
        return 4;
    return write(unlocked, &byte, 1) == 1 && read(locked, &byte, 1) == 1 ? 0 : 5;
}

static void test_locks(void)
{
    int in[2], out[2], fd = open(NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);

    CHECK(fd >= 0 && pipe(in) == 0 && pipe(out) == 0, "%s", strerror(errno));
    locked = out[0];
    unlocked = in[1];
    for (int i = 0; i < 2 * kernels_count(); i++) {
        struct lock_case bench = {.home = i * 3 % kernels_count(), .kernel = i % kernels_count(), .flocks = i % 4 < 2};
        int status = 0;
        pid_t child;
        char byte;

        kernels_go(bench.home);
        child = fork();
        if (child == 0)
            _exit(lock_body(&bench));
        CHECK(read(in[0], &byte, 1) == 1 && !is_free(), "home %d kernel %d: not locked", bench.home, bench.kernel);
        CHECK(write(out[1], &byte, 1) == 1 && read(in[0], &byte, 1) == 1 && is_free(),
              "home %d kernel %d: locked after a close", bench.home, bench.kernel);
        CHECK(write(out[1], &byte, 1) == 1, "%s", strerror(errno));
        CHECK(waitpid(child, &status, 0) == child && status == 0, "home %d kernel %d: status %x", bench.home,
              bench.kernel, status);
    }
    kernels_go(0);
    close(fd);
    unlink(NAME);
}

/* Names that are relative to the working directory, or to FD. At step s either is directory s / 2 % DIRECTORIES, in
 * which the file "which" has that number. */
#define DIRECTORIES 4

static const char *directory_name(int number)
{
    static char name[64];

    snprintf(name, sizeof(name), "%s.%d", NAME, number);
    return name;
}

/* What the file "which" of the directory has, or a negative errno. */
static long look_in(int directory)
{
    unsigned char byte = 0xff;
    long fd = x86_syscall3(SYS_openat, directory, (long)"which", O_RDONLY), got;

    if (fd < 0)
        return fd;
    got = x86_syscall3(SYS_read, fd, (long)&byte, 1);
    x86_syscall1(SYS_close, fd);
    return got == 1 ? byte : -EIO;
}

static void look_at_names(struct thread *thread)
{
    long error = thread_move(thread->index);

    atomic_fetch_add(&board.ready, 1);
    while (error == 0 && atomic_load(&board.over) == 0) {
        for (int which = 0; which < 2 && error == 0; which++) {
            long first = atomic_load(&board.ended);
            long got = look_in(which == 0 ? AT_FDCWD : FD);
            long last = atomic_load(&board.begun);
            bool found = false;

            for (long step = first; step <= last; step++)
                found = found || got == step % DIRECTORIES;
            if (!found)
                error = got < 0 ? 1000000 - got : 2000000 + first * 100 + got;
        }
        atomic_fetch_add(&board.looks[thread->index], 1);
        x86_pause();
    }
    atomic_store(&thread->result, error);
}

static int change_names(void *context)
{
    static struct thread threads[KERNELS_MAX];
    int count = kernels_count(), home = *(int *)context, wrong = 0, fds[DIRECTORIES];

    kernels_go(home);
    for (int i = 0; i < DIRECTORIES; i++)
        fds[i] = open(directory_name(i), O_RDONLY | O_DIRECTORY);
    if (chdir(directory_name(0)) != 0 || dup2(fds[0], FD) != FD)
        return 100;
    for (int i = 0; i < count; i++) {
        threads[i].index = i;
        if (!thread_start(&threads[i], look_at_names))
            return 101;
    }
    if (!thread_wait(&board.ready, count))
        return 102;
    for (long step = 1; step <= STEPS && wrong == 0; step++) {
        if (step % 50 == 0)
            kernels_go(home + (int)(step / 50));
        atomic_store(&board.begun, step);
        if (x86_syscall1(SYS_chdir, (long)directory_name((int)(step % DIRECTORIES))) != 0 ||
            x86_syscall3(SYS_dup2, fds[step % DIRECTORIES], FD, 0) != FD)
            wrong = 103;
        atomic_store(&board.ended, step);
        if (step % 10 < 2)
            all_look(threads, count);
    }
    return all_end(threads, count, wrong);
}

/* A thread that moves sees each directory that it has set itself. */
static int follow_own(void *context)
{
    (void)context;
    for (int step = 0; step < 3 * DIRECTORIES; step++) {
        long got = look_in(AT_FDCWD);

        if (got != step % DIRECTORIES)
            return 10 + (int)(got < 0 ? -got : got);
        if (chdir(directory_name((step + 1) % DIRECTORIES)) != 0)
            return 2;
        kernels_go(step);
    }
    return 0;
}

static void test_names(void)
{
    for (int i = 0; i < DIRECTORIES; i++) {
        char name[80], byte = (char)i;
        int fd;

        snprintf(name, sizeof(name), "%s/which", directory_name(i));
        CHECK(mkdir(directory_name(i), 0700) == 0 && (fd = open(name, O_WRONLY | O_CREAT, 0600)) >= 0 &&
                  write(fd, &byte, 1) == 1 && close(fd) == 0,
              "%s: %s", name, strerror(errno));
    }
    for (int home = 0; home < kernels_count(); home++) {
        int end;

        kernels_go(home);
        end = tap_fork(change_names, &home);
        CHECK(end == 0, "home %d: %d", home, end);
        CHECK(chdir(directory_name(0)) == 0, "%s", strerror(errno));
        end = tap_fork(follow_own, NULL);
        CHECK(end == 0, "home %d, alone: %d", home, end);
        CHECK(chdir("/") == 0, "%s", strerror(errno));
    }
    kernels_go(0);
    for (int i = 0; i < DIRECTORIES; i++) {
        char name[80];

        snprintf(name, sizeof(name), "%s/which", directory_name(i));
        CHECK(unlink(name) == 0 && rmdir(directory_name(i)) == 0, "%s: %s", name, strerror(errno));
    }
}

/* Process ids and tables come and go; what a cache holds of one means nothing of the next. */
static int short_body(void *context)
{
    char byte = 0;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        if (pread(FD, &byte, 1, 0) != 1 || byte != (char)*(int *)context)
            return 10 + k;
    }
    return 0;
}

static void test_processes(void)
{
    CHECK(open_files() == 0, "%s", strerror(errno));
    for (int i = 0; i < 3 * FILES; i++) {
        int file = i % FILES, end;

        kernels_go(i);
        CHECK(dup2(board.files[file], FD) == FD, "%s", strerror(errno));
        end = tap_fork(short_body, &file);
        CHECK(end == 0, "process %d: %d", i, end);
    }
    kernels_go(0);
    close(FD);
    for (int i = 0; i < FILES; i++)
        close(board.files[i]);
}

/* Many write parts of their own in a file and read all others', by descriptors that two processes share by fork. */
#define SLOTS 8
#define ROUNDS 40

struct cell {
    long number, check;
};

static atomic_long *published; /* the last number that each has written, shared with the children */

static int cells_body(void *context)
{
    int self = *(int *)context, fd = FD;

    for (long n = 1; n <= ROUNDS; n++) {
        struct cell cell = {n, ~n};

        kernels_go(self + n / 10);
        if (pwrite(fd, &cell, sizeof(cell), self * 100l) != sizeof(cell))
            return 1;
        atomic_store(&published[self], n);
        for (int other = 0; other < SLOTS; other++) {
            long least = atomic_load(&published[other]);

            if (pread(fd, &cell, sizeof(cell), other * 100l) != sizeof(cell) || cell.number < least)
                return 10 + other;
            if (cell.check != ~cell.number)
                return 20 + other;
        }
    }
    return 0;
}

static void test_cells(void)
{
    int fd = open(NAME, O_RDWR | O_CREAT | O_TRUNC, 0600), numbers[SLOTS];
    pid_t children[SLOTS];

    published = mmap(NULL, PAGE, READ_WRITE, SHARED, -1, 0);
    CHECK(published != MAP_FAILED && dup2(fd, FD) == FD, "%s", strerror(errno));
    for (int i = 0; i < SLOTS; i++) {
        struct cell cell = {0, ~0l};

        CHECK(pwrite(fd, &cell, sizeof(cell), i * 100l) == sizeof(cell), "%s", strerror(errno));
    }
    for (int i = 0; i < SLOTS; i++) {
        numbers[i] = i;
        kernels_go(i);
        children[i] = fork();
        if (children[i] == 0)
            _exit(cells_body(&numbers[i]));
    }
    for (int i = 0; i < SLOTS; i++) {
        int status = 0;

        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0, "writer %d: status %x", i, status);
    }
    kernels_go(0);
    close(fd);
    close(FD);
    munmap(published, PAGE);
    unlink(NAME);
}

/* An open on any kernel takes the lowest descriptor, with its flag; one that fails takes none. */
static void test_opened(void)
{
    struct rlimit all, few;

    getrlimit(RLIMIT_NOFILE, &all);
    for (int i = 0; i < kernels_count(); i++) {
        int first, second, third;

        kernels_go(i);
        first = open("/", O_RDONLY);
        second = (int)x86_syscall3(SYS_open, (long)"/", O_RDONLY | O_CLOEXEC, 0); /* musl sets FD_CLOEXEC itself */
        CHECK(first >= 0 && second == first + 1, "on kernel %d: %d, then %d", i, first, second);
        CHECK(fcntl(first, F_GETFD) == 0 && fcntl(second, F_GETFD) == FD_CLOEXEC, "FD_CLOEXEC, on kernel %d", i);
        CHECK(close(first) == 0, "%s", strerror(errno));
        third = open("/dev/null", O_WRONLY);
        CHECK(third == first && write(third, "x", 1) == 1, "on kernel %d: %d in place of %d", i, third, first);
        few = (struct rlimit){(rlim_t)second + 1, all.rlim_max};
        CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0, "%s", strerror(errno));
        for (int again = 0; again < 3; again++)
            CHECK_ERROR(open("/", O_RDONLY), EMFILE);
        CHECK_ERROR(open("/no-such-file", O_RDONLY), ENOENT);
        CHECK(setrlimit(RLIMIT_NOFILE, &all) == 0, "%s", strerror(errno));
        CHECK(close(third) == 0 && close(second) == 0, "%s", strerror(errno));
        CHECK(open("/", O_RDONLY) == first && close(first) == 0, "on kernel %d: a descriptor is left", i);
    }
    kernels_go(0);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"opened", "an open on any kernel takes the lowest descriptor, and none if it fails", test_opened},
        {"replace", "after dup2 every later call on any kernel finds the new file", test_replace},
        {"close", "a closed descriptor is bad on every kernel until it is used again", test_close},
        {"limit", "RLIMIT_FSIZE holds on kernels that had used the file before", test_limit},
        {"names", "after chdir, or dup2 of a directory, every later name on any kernel begins there", test_names},
        {"locks", "locks taken on a kernel that had used the file end with a close on another kernel", test_locks},
        {"processes", "what a kernel has cached of one process is never used for the next", test_processes},
        {"cells", "a write on one kernel is seen by every read that begins after it", test_cells},
    };

    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
