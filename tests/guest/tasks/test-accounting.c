/* test-accounting: what a process and its threads have done, as getrusage, wait4 and /proc tell it, while threads are
 * on all kernels, move, and end; and memory and descriptors of a process as files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define PAGE 4096l
#define THREADS 8
#define BYTES 1000

/* Moves the calling thread, any thread, to PLACE modulo their number. */
static void go(int place)
{
    struct place_call call = place_call(place);

    if (syscall(call.number, call.arguments[0], call.arguments[1], call.arguments[2]) != 0)
        abort();
}

struct io {
    long rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled;
};

/* Reading it counts, too: one call and what it gave, in what is read next. */
static bool read_io(const char *path, struct io *io, long *length)
{
    char text[512];
    int fd = open(path, O_RDONLY);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    if (!CHECK(size > 0, "%s: %s", path, strerror(errno)))
        return false;
    text[size] = '\0';
    *length = size;
    return CHECK(sscanf(text,
                        "rchar: %ld\nwchar: %ld\nsyscr: %ld\nsyscw: %ld\nread_bytes: %ld\nwrite_bytes: %ld\n"
                        "cancelled_write_bytes: %ld\n",
                        &io->rchar, &io->wchar, &io->syscr, &io->syscw, &io->read_bytes, &io->write_bytes,
                        &io->cancelled) == 7,
                 "%s", text);
}

/* Writes BYTES to a pipe and reads them, at PLACE. */
static int move_bytes(int place)
{
    char bytes[BYTES] = {1};
    int fds[2], good;

    go(place);
    if (pipe(fds) != 0)
        return 0;
    good = write(fds[1], bytes, BYTES) == BYTES && read(fds[0], bytes, BYTES) == BYTES;
    close(fds[0]);
    close(fds[1]);
    return good;
}

static void test_io(void)
{
    struct io before, after;
    char bytes[16] = "0123456789";
    struct iovec vector[2] = {{bytes, 3}, {bytes + 3, 4}};
    int fds[2] = {-1, -1};
    long first, second;

    if (!CHECK(pipe(fds) == 0, "%s", strerror(errno)) || !read_io("/proc/self/io", &before, &first))
        return;
    CHECK(write(fds[1], bytes, 10) == 10, "write");
    CHECK(writev(fds[1], vector, 2) == 7, "writev");
    CHECK(read(fds[0], bytes, 12) == 12, "read");
    CHECK(readv(fds[0], vector, 2) == 5, "readv");
    CHECK_ERROR(read(-1, bytes, 1), EBADF);          /* not counted */
    CHECK_ERROR(readv(-1, vector, 1), EBADF);        /* counted */
    CHECK_ERROR(read(fds[1], bytes, 1), EBADF);      /* not counted */
    CHECK_ERROR(pread(fds[0], bytes, 1, 0), ESPIPE); /* not counted */
    if (!read_io("/proc/self/io", &after, &second))
        return;
    CHECK(after.rchar - before.rchar == 17 + first, "%ld bytes read, %ld of the file", after.rchar - before.rchar,
          first);
    CHECK(after.wchar - before.wchar == 17, "%ld bytes written", after.wchar - before.wchar);
    CHECK(after.syscr - before.syscr == 4, "%ld reads", after.syscr - before.syscr);
    CHECK(after.syscw - before.syscw == 2, "%ld writes", after.syscw - before.syscw);
    CHECK(after.cancelled == 0, "%ld", after.cancelled);
    close(fds[0]);
    close(fds[1]);
}

struct work {
    pthread_t thread;
    int index, good;
    struct io io;
    long length;
};

/* Bytes on every place, then its own count. */
static void *work_everywhere(void *argument)
{
    struct work *work = argument;
    int count = place_few(4);

    work->good = 1;
    for (int i = 0; i < count; i++)
        work->good &= move_bytes(work->index + i);
    return NULL;
}

static void test_io_threads(void)
{
    struct work work[THREADS];
    struct io before, after;
    int count = place_few(4);
    long first, second;

    if (!read_io("/proc/self/io", &before, &first))
        return;
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){.index = i};
        CHECK(pthread_create(&work[i].thread, NULL, work_everywhere, &work[i]) == 0, "thread %d", i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(work[i].thread, NULL);
        CHECK(work[i].good, "thread %d could not move its bytes", i);
    }
    if (!read_io("/proc/self/io", &after, &second))
        return;
    /* the tests' own way to another place may read files: under Linux none */
    CHECK(after.wchar - before.wchar == (long)THREADS * count * BYTES, "%ld", after.wchar - before.wchar);
    CHECK(after.syscw - before.syscw == (long)THREADS * count, "%ld", after.syscw - before.syscw);
    CHECK(after.rchar - before.rchar == (long)THREADS * count * BYTES + first, "%ld", after.rchar - before.rchar);
    CHECK(after.syscr - before.syscr == (long)THREADS * count + 1, "%ld", after.syscr - before.syscr);
}

static void *count_own(void *argument)
{
    struct work *work = argument;
    char path[64];

    work_everywhere(argument);
    snprintf(path, sizeof(path), "/proc/self/task/%ld/io", (long)syscall(SYS_gettid));
    work->good &= read_io(path, &work->io, &work->length);
    return NULL;
}

static void test_io_thread(void)
{
    struct work work = {.index = 1};

    if (!CHECK(pthread_create(&work.thread, NULL, count_own, &work) == 0, "thread"))
        return;
    pthread_join(work.thread, NULL);
    CHECK(work.good, "the thread could not move its bytes");
    CHECK(work.io.wchar == (long)place_few(4) * BYTES, "%ld written", work.io.wchar);
    CHECK(work.io.rchar == (long)place_few(4) * BYTES, "%ld read", work.io.rchar);
}

/* A child's bytes are its parent's when it was waited for, and not before. */
static void test_io_child(void)
{
    struct io before, between, after;
    long first, second, third;
    siginfo_t info;
    pid_t child;

    if (!read_io("/proc/self/io", &before, &first))
        return;
    child = fork();
    if (child == 0)
        _exit(move_bytes(1) && move_bytes(2) ? 0 : 1);
    CHECK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0 && info.si_status == 0, "child");
    if (!read_io("/proc/self/io", &between, &second))
        return;
    CHECK(between.wchar == before.wchar, "%ld before it is waited for", between.wchar - before.wchar);
    CHECK(waitpid(child, NULL, 0) == child, "%s", strerror(errno));
    if (!read_io("/proc/self/io", &after, &third))
        return;
    CHECK(after.wchar - before.wchar == 2 * BYTES, "%ld", after.wchar - before.wchar);
    CHECK(after.rchar - before.rchar == 2 * BYTES + first + second, "%ld", after.rchar - before.rchar);
    CHECK(after.syscw - before.syscw == 2, "%ld", after.syscw - before.syscw);
}

/* --- usage --- */

static long faults(const struct rusage *usage)
{
    return usage->ru_minflt + usage->ru_majflt;
}

static char *map(long pages)
{
    char *area = mmap(NULL, (size_t)(pages * PAGE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (area != MAP_FAILED)
        madvise(area, (size_t)(pages * PAGE), MADV_NOHUGEPAGE);
    return area;
}

#define PAGES 200l

/* Each place touches its own pages of AREA for the first time. */
static void touch_everywhere(char *area, int count)
{
    for (int i = 0; i < count; i++) {
        go(i);
        for (long page = 0; page < PAGES; page++)
            area[(i * PAGES + page) * PAGE] = 1;
    }
    go(0);
}

static void test_faults(void)
{
    int count = place_few(4);
    struct rusage before, after, thread_before, thread_after;
    char *area = map(count * PAGES);

    if (!CHECK(area != MAP_FAILED, "%s", strerror(errno)))
        return;
    getrusage(RUSAGE_SELF, &before);
    getrusage(RUSAGE_THREAD, &thread_before);
    touch_everywhere(area, count);
    getrusage(RUSAGE_THREAD, &thread_after);
    getrusage(RUSAGE_SELF, &after);
    CHECK(faults(&after) - faults(&before) >= count * PAGES, "%ld faults of the process",
          faults(&after) - faults(&before));
    CHECK(faults(&thread_after) - faults(&thread_before) >= count * PAGES, "%ld faults of the thread",
          faults(&thread_after) - faults(&thread_before));
    CHECK(faults(&thread_after) - faults(&thread_before) <= faults(&after) - faults(&before),
          "the thread has more than its process");
    munmap(area, (size_t)(count * PAGES * PAGE));
}

/* The peak stays when the memory goes. */
static void test_peak(void)
{
    int count = place_few(4);
    struct rusage before, after, later;
    long size = count * PAGES * PAGE / 1024;
    char *area;

    getrusage(RUSAGE_SELF, &before);
    for (int round = 0; round < 3; round++) {
        area = map(count * PAGES);
        if (!CHECK(area != MAP_FAILED, "%s", strerror(errno)))
            return;
        touch_everywhere(area, count);
        getrusage(RUSAGE_SELF, &after);
        munmap(area, (size_t)(count * PAGES * PAGE));
    }
    getrusage(RUSAGE_SELF, &later);
    CHECK(after.ru_maxrss >= size, "%ld KiB, %ld touched", after.ru_maxrss, size);
    CHECK(later.ru_maxrss >= after.ru_maxrss, "%ld, before %ld", later.ru_maxrss, after.ru_maxrss);
    CHECK(later.ru_maxrss <= before.ru_maxrss + size + 1024, "%ld: more than %ld and %ld", later.ru_maxrss,
          before.ru_maxrss, size);
}

static void test_peak_child(void)
{
    const long big = 2000;
    struct rusage usage, children;
    pid_t child = fork();

    if (child == 0) {
        char *area = map(big);

        go(1);
        for (long page = 0; area != MAP_FAILED && page < big; page++)
            area[page * PAGE] = 1;
        _exit(area == MAP_FAILED);
    }
    CHECK(wait4(child, NULL, 0, &usage) == child, "%s", strerror(errno));
    CHECK(usage.ru_maxrss >= big * PAGE / 1024, "%ld KiB", usage.ru_maxrss);
    CHECK(faults(&usage) >= big, "%ld faults", faults(&usage));
    getrusage(RUSAGE_CHILDREN, &children);
    CHECK(children.ru_maxrss >= usage.ru_maxrss, "%ld, the child %ld", children.ru_maxrss, usage.ru_maxrss);
    CHECK(faults(&children) >= faults(&usage), "%ld, the child %ld", faults(&children), faults(&usage));
}

static long status_number(const char *path, const char *name)
{
    char text[4096];
    int fd = open(path, O_RDONLY);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    const char *line;

    if (fd >= 0)
        close(fd);
    if (size < 0)
        return -1;
    text[size] = '\0';
    line = strstr(text, name);
    return line == NULL ? -1 : strtol(line + strlen(name), NULL, 10);
}

/* Waits NUMBER times for the other end of two pipes, which only it wakes. */
static void test_waits(void)
{
    const int number = 50;
    struct rusage before, after;
    int there[2], back[2];
    char byte = 0;
    long reported;
    pid_t child;

    if (!CHECK(pipe(there) == 0 && pipe(back) == 0, "%s", strerror(errno)))
        return;
    child = fork();
    if (child == 0) {
        go(1);
        for (int i = 0; i < number; i++) {
            if (read(there[0], &byte, 1) != 1)
                _exit(1);
            while (!tap_sleeps(getppid(), getppid())) /* it waits for the answer */
                sched_yield();
            if (write(back[1], &byte, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    getrusage(RUSAGE_THREAD, &before);
    for (int i = 0; i < number; i++) {
        go(i / 10);
        CHECK(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "round %d", i);
    }
    getrusage(RUSAGE_THREAD, &after);
    reported = status_number("/proc/thread-self/status", "\nvoluntary_ctxt_switches:");
    go(0);
    waitpid(child, NULL, 0);
    CHECK(after.ru_nvcsw - before.ru_nvcsw >= number, "%ld", after.ru_nvcsw - before.ru_nvcsw);
    CHECK(reported >= after.ru_nvcsw, "%ld reported, %ld before", reported, after.ru_nvcsw);
    close(there[0]);
    close(there[1]);
    close(back[0]);
    close(back[1]);
}

/* Two on one CPU: whoever works is interrupted for the other. */
static void *work_until(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE))
        x86_pause();
    return NULL;
}

static void test_preemptions(void)
{
    struct rusage usage;
    int first, stop = 0, rounds = 0;
    cpu_set_t set, old;
    pthread_t thread;

    place_cpus(0, &first);
    sched_getaffinity(0, sizeof(old), &old);
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    if (!CHECK(sched_setaffinity(0, sizeof(set), &set) == 0, "%s", strerror(errno)) ||
        !CHECK(pthread_create(&thread, NULL, work_until, &stop) == 0, "thread"))
        return;
    do { /* that it comes is the promise: a deadline is the test's */
        for (volatile int turn = 0; turn < 50000000; turn++) {
        } /* longer than any slice: the call may wait for other kernels, and who sleeps in time is not interrupted */
        getrusage(RUSAGE_THREAD, &usage);
    } while (usage.ru_nivcsw < 3 && ++rounds > 0);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK(usage.ru_nivcsw >= 3, "%ld", usage.ru_nivcsw);
    sched_setaffinity(0, sizeof(old), &old);
}

/* --- memory and descriptors as files --- */

static void test_memory(void)
{
    int fd = open("/proc/self/mem", O_RDWR);
    char *area = map(3), text[16] = "";
    int sink[2], program = open("/proc/self/exe", O_RDONLY);

    if (!CHECK(fd >= 0, "%s", strerror(errno)) || !CHECK(area != MAP_FAILED, "%s", strerror(errno)))
        return;
    go(1);
    strcpy(area + PAGE - 4, "over the edge");
    go(0);
    munmap(area + 2 * PAGE, PAGE);
    CHECK(pread(fd, text, 14, (off_t)(area + PAGE - 4)) == 14 && strcmp(text, "over the edge") == 0, "%s", text);
    CHECK(lseek(fd, (off_t)(area + PAGE - 4), SEEK_SET) == (off_t)(area + PAGE - 4), "lseek");
    CHECK(write(fd, "OVER", 4) == 4 && write(fd, " THE", 4) == 4, "%s", strerror(errno));
    CHECK(strcmp(area + PAGE - 4, "OVER THE edge") == 0, "%s", area + PAGE - 4);
    CHECK(lseek(fd, 0, SEEK_CUR) == (off_t)(area + PAGE + 4), "the offset did not move on");
    CHECK(pwrite(fd, "x", 1, (off_t)area) == 1 && area[0] == 'x', "pwrite");
    CHECK(pread(fd, text, 16, (off_t)(area + 2 * PAGE - 8)) == 8, "it does not end where memory does");
    CHECK_ERROR(pread(fd, text, 16, (off_t)(area + 2 * PAGE)), EIO);
    CHECK_ERROR(pwrite(fd, text, 16, (off_t)(area + 2 * PAGE)), EIO);
    CHECK_ERROR(lseek(fd, 0, SEEK_END), EINVAL);
    CHECK(pread(fd, text, 0, (off_t)(area + 2 * PAGE)) == 0, "nothing to read");
    CHECK(lseek(fd, 0, SEEK_SET) == 0, "%s", strerror(errno));
    CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED && errno == ENODEV, "%s", strerror(errno));
    if (CHECK(pipe(sink) == 0, "%s", strerror(errno))) {
        CHECK_ERROR(sendfile(sink[1], fd, NULL, 1), EINVAL);
        CHECK_ERROR(splice(fd, NULL, sink[1], NULL, 1, 0), EINVAL);
        CHECK(write(sink[1], "y", 1) == 1, "%s", strerror(errno));
        CHECK_ERROR(splice(sink[0], NULL, fd, NULL, 1, 0), EINVAL);
        CHECK(read(sink[0], text, 2) == 1 && text[0] == 'y', "what was not moved has gone");
        CHECK_ERROR(sendfile(fd, program, NULL, 1), EINVAL);
        close(program);
        close(sink[0]);
        close(sink[1]);
    }
    close(fd);
    fd = open("/proc/self/mem", O_RDONLY);
    CHECK_ERROR(write(fd, "x", 1), EBADF);
    close(fd);
    munmap(area, (size_t)(2 * PAGE));
}

static void test_memory_child(void)
{
    static volatile long value = 1;
    char path[64];
    int fds[2], fd, status;
    long other = 0;
    pid_t child;

    if (!CHECK(pipe(fds) == 0, "%s", strerror(errno)))
        return;
    child = fork();
    if (child == 0) {
        char byte;

        go(1);
        value = 4711;
        if (write(fds[1], "", 1) != 1)
            _exit(1);
        while (value == 4711)
            sched_yield();
        byte = (char)value;
        _exit(byte);
    }
    CHECK(read(fds[0], &path, 1) == 1, "%s", strerror(errno));
    snprintf(path, sizeof(path), "/proc/%d/mem", child);
    fd = open(path, O_RDWR);
    CHECK(fd >= 0, "%s: %s", path, strerror(errno));
    CHECK(pread(fd, &other, sizeof(other), (off_t)&value) == sizeof(other) && other == 4711, "%ld", other);
    other = 42;
    CHECK(pwrite(fd, &other, sizeof(other), (off_t)&value) == sizeof(other), "%s", strerror(errno));
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42, "%x", status);
    CHECK(pread(fd, &other, sizeof(other), (off_t)&value) == 0, "memory of a process that has ended");
    CHECK(pwrite(fd, &other, sizeof(other), (off_t)&value) == 0, "written to what has ended");
    CHECK(lseek(fd, (off_t)&value, SEEK_SET) == (off_t)&value && write(fd, &other, sizeof(other)) == 0, "the same");
    close(fd);
    close(fds[0]);
    close(fds[1]);
}

/* Not root's: another user's process is not to be looked into. */
static void test_memory_user(void)
{
    int status;
    pid_t child;

    if (geteuid() != 0) {
        tap_skip("only root can become another");
        return;
    }
    child = fork();
    if (child == 0) {
        char path[64];

        if (setresgid(1000, 1000, 1000) != 0 || setresuid(1000, 1000, 1000) != 0)
            _exit(1);
        snprintf(path, sizeof(path), "/proc/%d/mem", getppid());
        if (open(path, O_RDONLY) >= 0 || errno != EACCES)
            _exit(2);
        snprintf(path, sizeof(path), "/proc/%d/io", getppid());
        status = open(path, O_RDONLY);
        if (status >= 0 && read(status, path, sizeof(path)) >= 0)
            _exit(3);
        _exit(errno == EACCES ? 0 : 4);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%x", status);
}

/* What is open when it is looked at: the listing itself, too, and what comes later. */
static void test_listing(void)
{
    DIR *directory = opendir("/proc/self/fd");
    bool own = false, later = false, gone = false;
    int first = dup(0), second = dup(0);

    if (!CHECK(directory != NULL, "%s", strerror(errno)))
        return;
    close(first);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char name[16];

        own |= atoi(entry->d_name) == dirfd(directory) && entry->d_name[0] != '.';
        snprintf(name, sizeof(name), "%d", second);
        later |= strcmp(name, entry->d_name) == 0;
        snprintf(name, sizeof(name), "%d", first);
        gone |= strcmp(name, entry->d_name) == 0;
        CHECK(entry->d_name[0] == '.' || entry->d_type == DT_LNK, "%s: type %d", entry->d_name, entry->d_type);
    }
    CHECK(own, "its own descriptor is missing");
    CHECK(later, "a descriptor opened after the listing is missing");
    CHECK(!gone, "one that is closed is there");
    rewinddir(directory);
    CHECK(readdir(directory) != NULL, "nothing after rewinding");
    close(second);
    closedir(directory);
}

/* More than go into one answer, and a listing from another kernel. */
static void test_listing_long(void)
{
    int fds[400], count = 0, found = 0, fd;
    char path[64];
    pid_t child;
    DIR *directory;

    for (int i = 0; i < 400; i++) {
        fds[i] = dup(0);
        count += fds[i] >= 0;
    }
    go(1);
    child = fork();
    if (child == 0)
        _exit(0);
    snprintf(path, sizeof(path), "/proc/%d/fd", child);
    fd = open(path, O_RDONLY | O_DIRECTORY);
    CHECK(fd >= 0 && waitpid(child, NULL, 0) == child, "%s", strerror(errno));
    CHECK_ERROR(syscall(SYS_getdents64, fd, path, sizeof(path)), ENOENT);
    close(fd);
    directory = opendir("/proc/self/fd");
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        for (int i = 0; i < 400; i++)
            found += entry->d_name[0] != '.' && fds[i] == atoi(entry->d_name);
    }
    if (CHECK(directory != NULL, "%s", strerror(errno)))
        closedir(directory);
    go(0);
    CHECK(count == 400 && found == 400, "%d of %d", found, count);
    for (int i = 0; i < 400; i++)
        close(fds[i]);
}

static const struct tap_test tests[] = {
    {"io", "/proc/self/io counts the bytes and the calls of reads and writes as Linux does", test_io},
    {"io-threads", "the process's counts include threads that ran on all kernels and ended", test_io_threads},
    {"io-thread", "a thread's counts include what it did on every kernel", test_io_thread},
    {"io-child", "a child's bytes are added to its parent's when it is waited for", test_io_child},
    {"faults", "page faults on all kernels are counted for the process and the thread", test_faults},
    {"peak", "ru_maxrss is the peak, and stays", test_peak},
    {"peak-child", "wait4 and RUSAGE_CHILDREN report a child's peak and faults", test_peak_child},
    {"waits", "voluntary switches are counted across moves, and /proc/thread-self/status reports them", test_waits},
    {"preemptions", "involuntary switches of a thread are counted", test_preemptions},
    {"memory", "/proc/self/mem reads and writes memory, by offset and by pread", test_memory},
    {"memory-child", "/proc/PID/mem reaches another process on another kernel, until it ends", test_memory_child},
    {"memory-user", "another user's memory and counts cannot be read", test_memory_user},
    {"listing", "/proc/self/fd lists what is open, its own descriptor too", test_listing},
    {"listing-long", "/proc/self/fd lists many descriptors, from every kernel", test_listing_long},
};

int main(int argc, char **argv)
{
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
