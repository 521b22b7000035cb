/* test-content: mappings of files that are written, by calls and by way of mappings, on all kernels at once. The files
 * have no names. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/filemap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define BUS (SIGBUS * 100 + 2)
#define ACCESS (SIGSEGV * 100 + 2)

static int make(long pages)
{
    int fd = memfd_create("test", MFD_ALLOW_SEALING);

    CHECK(fd >= 0 && ftruncate(fd, pages * PAGE) == 0, "%s", strerror(errno));
    return fd;
}

static char *map(int fd, long first, long pages, int prot, int type)
{
    char *area = mmap(NULL, (size_t)(pages * PAGE), prot, type, fd, first * PAGE);

    CHECK(area != MAP_FAILED, "%s", strerror(errno));
    return area;
}

static bool reads(int fd, long at, const char *text)
{
    char bytes[64] = {0};
    size_t length = strlen(text);

    return pread(fd, bytes, length, at) == (ssize_t)length && memcmp(bytes, text, length) == 0;
}

/* --- one set of bytes --- */

static void test_same(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int fd = make(4);
        char *area, *second;

        kernels_go(k);
        area = map(fd, 0, 4, READ_WRITE, MAP_SHARED);
        second = map(fd, 1, 3, READ_WRITE, MAP_SHARED);
        strcpy(area + PAGE, "by memory");
        CHECK(reads(fd, PAGE, "by memory"), "a read after a store on %d", k);
        kernels_go(k + 1);
        CHECK(strcmp(area + PAGE, "by memory") == 0 && strcmp(second, "by memory") == 0, "on the next kernel");
        CHECK(pwrite(fd, "by calls", 9, PAGE) == 9, "%s", strerror(errno));
        CHECK(strcmp(area + PAGE, "by calls") == 0 && strcmp(second, "by calls") == 0, "there");
        kernels_go(k + 2);
        CHECK(strcmp(second, "by calls") == 0, "on a third");
        strcpy(second + PAGE, "second");
        CHECK(reads(fd, 2 * PAGE, "second") && strcmp(area + 2 * PAGE, "second") == 0, "by the second mapping");
        CHECK(audit_own(), "the audit");
        munmap(second, 3 * PAGE);
        CHECK(msync(area, 4 * PAGE, MS_SYNC) == 0, "%s", strerror(errno));
        munmap(area, 4 * PAGE);
        CHECK(reads(fd, PAGE, "by calls") && reads(fd, 2 * PAGE, "second"), "when nothing is mapped");
        close(fd);
    }
    kernels_go(0);
}

static void test_holes(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int fd = make(64);
        char *area = map(fd, 0, 64, READ_WRITE, MAP_SHARED);

        kernels_go(k);
        CHECK_ERROR(lseek(fd, 0, SEEK_DATA), ENXIO);
        CHECK(area[9 * PAGE + 1] == 0, "a hole that is read");
        area[20 * PAGE + 5] = 'x';
        kernels_go(k + 1);
        CHECK(area[20 * PAGE + 5] == 'x' && reads(fd, 20 * PAGE + 5, "x"), "a hole that was written");
        CHECK(lseek(fd, 10 * PAGE, SEEK_DATA) == 20 * PAGE && lseek(fd, 20 * PAGE, SEEK_HOLE) == 21 * PAGE,
              "where it is data");
        munmap(area, 64 * PAGE);
        close(fd);
    }
    kernels_go(0);
}

static void test_kept(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int fd = make(3);
        char *area;

        kernels_go(k);
        CHECK(pwrite(fd, "kept", 4, 0) == 4, "%s", strerror(errno));
        area = map(fd, 0, 3, READ_WRITE, MAP_SHARED);
        close(fd);
        kernels_go(k + 1);
        CHECK(memcmp(area, "kept", 4) == 0, "after close");
        strcpy(area + PAGE, "more");
        area = mremap(area, 3 * PAGE, 2 * PAGE, 0);
        area = mremap(area, 2 * PAGE, 5 * PAGE, MREMAP_MAYMOVE);
        CHECK(area != MAP_FAILED && memcmp(area, "kept", 4) == 0 && strcmp(area + PAGE, "more") == 0, "moved");
        CHECK(area[2 * PAGE] == 0 && filemap_signal(area + 3 * PAGE, true) == BUS, "grown");
        munmap(area, PAGE);
        kernels_go(k);
        CHECK(strcmp(area + PAGE, "more") == 0, "a part");
        munmap(area + PAGE, 4 * PAGE);
    }
    kernels_go(0);
}

static void test_private(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int fd = make(3);
        char *area, *shared;

        CHECK(pwrite(fd, "abc", 3, 0) == 3, "%s", strerror(errno));
        kernels_go(k);
        area = map(fd, 0, 3, READ_WRITE, MAP_PRIVATE);
        shared = map(fd, 0, 3, READ_WRITE, MAP_SHARED);
        CHECK(area[0] == 'a', "the file's");
        shared[0] = 'A';
        kernels_go(k + 1);
        CHECK(area[0] == 'A', "a private page that is not written is the file's");
        area[1] = 'B';
        CHECK(reads(fd, 0, "Abc") && shared[1] == 'b', "what is written to it is not");
        CHECK(pwrite(fd, "xyz", 3, 0) == 3 && shared[0] == 'x', "%s", strerror(errno));
        kernels_go(k);
        CHECK(area[0] == 'A' && area[1] == 'B', "nor is what the file gets afterwards");
        area[2 * PAGE] = 'p';
        CHECK(shared[2 * PAGE] == 0, "a hole");
        CHECK(audit_own(), "the audit");
        CHECK(madvise(area, 3 * PAGE, MADV_DONTNEED) == 0 && area[0] == 'x' && area[2 * PAGE] == 0, "given up");
        munmap(area, 3 * PAGE);
        munmap(shared, 3 * PAGE);
        close(fd);
    }
    kernels_go(0);
}

static void test_protect(void)
{
    int fd = make(2);

    for (int k = 0; k < kernels_count(); k++) {
        char *area = map(fd, 0, 2, PROT_READ, MAP_SHARED);

        kernels_go(k);
        CHECK(filemap_signal(area, true) == ACCESS, "not writable yet");
        CHECK(mprotect(area, PAGE, READ_WRITE) == 0, "%s", strerror(errno));
        area[3] = (char)k;
        kernels_go(k + 1);
        CHECK(area[3] == (char)k && filemap_signal(area + PAGE, true) == ACCESS, "the other page");
        area[4] = 'x';
        CHECK(mprotect(area, PAGE, PROT_READ) == 0, "%s", strerror(errno));
        kernels_go(k);
        CHECK(filemap_signal(area, true) == ACCESS && area[4] == 'x', "no more");
        munmap(area, 2 * PAGE);
    }
    kernels_go(0);
    close(fd);
}

static void test_seals(void)
{
    int fd = make(2);
    char *area = map(fd, 0, 2, READ_WRITE, MAP_SHARED);

    kernels_go(1);
    CHECK_ERROR(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EBUSY);
    munmap(area, 2 * PAGE);
    CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0, "%s", strerror(errno));
    CHECK_ERROR((long)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, fd, 0), EPERM);
    area = map(fd, 0, 2, PROT_READ, MAP_PRIVATE);
    CHECK(area[5] == 0 && mprotect(area, PAGE, READ_WRITE) == 0, "a private one");
    area[5] = 1;
    munmap(area, 2 * PAGE);
    kernels_go(0);
    close(fd);
}

/* --- processes --- */

struct shared {
    int fd;
    char *area;
};

static int child_shares(void *context)
{
    const struct shared *shared = context;

    kernels_go(2);
    if (strcmp(shared->area, "parent") != 0)
        return 1;
    strcpy(shared->area + PAGE, "child");
    if (!reads(shared->fd, PAGE, "child"))
        return 2;
    if (pwrite(shared->fd, "called", 7, 2 * PAGE) != 7 || strcmp(shared->area + 2 * PAGE, "called") != 0)
        return 3;
    return 0;
}

static void test_fork(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        struct shared shared = {make(4), NULL};
        int end;

        kernels_go(k);
        shared.area = map(shared.fd, 0, 4, READ_WRITE, MAP_SHARED);
        strcpy(shared.area, "parent");
        kernels_go(k + 1);
        end = tap_fork(child_shares, &shared);
        CHECK(end == 0, "the child on %d: %d", k, end);
        CHECK(strcmp(shared.area + PAGE, "child") == 0 && strcmp(shared.area + 2 * PAGE, "called") == 0,
              "what the child has written");
        CHECK(audit_own(), "the audit");
        munmap(shared.area, 4 * PAGE);
        close(shared.fd);
    }
    kernels_go(0);
}

/* A child keeps what its parent has let go of. */
static int child_alone(void *context)
{
    const struct shared *shared = context;
    char byte;

    close(shared->fd);
    if (read(0 + *(int *)(shared->area + 2 * PAGE), &byte, 1) != 0) /* until the parent has closed its end */
        return 1;
    kernels_go(1);
    if (strcmp(shared->area, "parent") != 0)
        return 2;
    strcpy(shared->area + PAGE, "alone");
    kernels_go(2);
    return strcmp(shared->area + PAGE, "alone") == 0 ? 0 : 3;
}

static void test_outlives(void)
{
    struct shared shared = {make(3), NULL};
    int fds[2], status = 0;
    pid_t child;

    shared.area = map(shared.fd, 0, 3, READ_WRITE, MAP_SHARED);
    strcpy(shared.area, "parent");
    CHECK(pipe(fds) == 0, "%s", strerror(errno));
    memcpy(shared.area + 2 * PAGE, &fds[0], sizeof(fds[0]));
    child = fork();
    if (child == 0) {
        close(fds[1]);
        _exit(child_alone(&shared));
    }
    munmap(shared.area, 3 * PAGE);
    close(shared.fd);
    close(fds[0]);
    close(fds[1]);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child: %x", status);
}

/* --- shorter files --- */

static void test_truncate(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int fd = make(6);
        char *area = map(fd, 0, 6, READ_WRITE, MAP_SHARED), *private = map(fd, 0, 6, READ_WRITE, MAP_PRIVATE);

        for (int i = 0; i < kernels_count(); i++) { /* each kernel has each page */
            kernels_go(k + i);
            for (long page = 0; page < 6; page++)
                area[page * PAGE + i] = 'a';
        }
        private[4 * PAGE] = 'p';
        private[PAGE] = 'p';
        CHECK(private[2 * PAGE] == 'a', "a private page that is not written");
        CHECK(ftruncate(fd, 2 * PAGE + 1) == 0, "%s", strerror(errno));
        for (int i = 0; i < kernels_count(); i++) {
            kernels_go(k + i);
            for (long page = 3; page < 6; page++) {
                CHECK(filemap_signal(area + page * PAGE, page == 3) == BUS, "page %ld on %d", page, i);
                CHECK(filemap_signal(private + page * PAGE, page == 3) == BUS, "private page %ld on %d", page, i);
            }
            CHECK(area[PAGE + i] == 'a' && area[2 * PAGE] == 'a', "what is left");
            CHECK(i == 0 || area[2 * PAGE + i] == 0, "behind the end, in its page");
        }
        CHECK(private[PAGE] == 'p', "a private copy before the end");
        CHECK(audit_own(), "the audit");
        kernels_go(k + 1);
        CHECK(ftruncate(fd, 6 * PAGE) == 0, "%s", strerror(errno));
        for (int i = 0; i < kernels_count(); i++) {
            kernels_go(k + i);
            CHECK(area[4 * PAGE + i] == 0 && area[3 * PAGE] == 0, "what was cut off is back");
        }
        CHECK(private[4 * PAGE] == 0, "of a private copy, too");
        area[5 * PAGE] = 'z';
        CHECK(reads(fd, 5 * PAGE, "z"), "a new page");
        CHECK(ftruncate(fd, 0) == 0 && filemap_signal(area, false) == BUS, "all of it");
        CHECK(audit_own(), "the audit");
        munmap(area, 6 * PAGE);
        munmap(private, 6 * PAGE);
        close(fd);
    }
    kernels_go(0);
}

static void test_punch(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        int fd = make(5);
        char *area = map(fd, 0, 5, READ_WRITE, MAP_SHARED);

        for (int i = 0; i < kernels_count(); i++) {
            kernels_go(k + i);
            for (long page = 0; page < 5; page++)
                area[page * PAGE + i] = 'a';
        }
        CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, 2 * PAGE + 1) == 0, "%s",
              strerror(errno));
        for (int i = 0; i < kernels_count(); i++) {
            kernels_go(k + i);
            CHECK(area[i] == 'a' && area[PAGE + i] == 0 && area[2 * PAGE + i] == 0, "on %d", i);
            CHECK(area[3 * PAGE] == 0 && (i == 0 || area[3 * PAGE + i] == 'a') && area[4 * PAGE + i] == 'a', "on %d",
                  i);
        }
        area[PAGE] = 'n';
        kernels_go(k + 1);
        CHECK(area[PAGE] == 'n' && reads(fd, PAGE, "n"), "written again");
        CHECK(audit_own(), "the audit");
        munmap(area, 5 * PAGE);
        close(fd);
    }
    kernels_go(0);
}

/* A child on another kernel, which has the file mapped by a fork, loses what its parent cuts off. */
static int child_cut(void *context)
{
    const struct shared *shared = context;
    volatile char *step = shared->area;

    kernels_go(3);
    if (shared->area[2 * PAGE] != 'x')
        return 1;
    *step = 1;
    while (*step != 2)
        sched_yield();
    return filemap_signal(shared->area + 2 * PAGE, false) == BUS ? 0 : 2;
}

static void test_truncate_child(void)
{
    struct shared shared = {make(3), NULL};
    volatile char *step;
    int status = 0;
    pid_t child;

    shared.area = map(shared.fd, 0, 3, READ_WRITE, MAP_SHARED);
    step = shared.area;
    shared.area[2 * PAGE] = 'x';
    child = fork();
    if (child == 0)
        _exit(child_cut(&shared));
    while (*step != 1 && waitpid(child, &status, WNOHANG) == 0)
        sched_yield();
    CHECK(ftruncate(shared.fd, PAGE) == 0, "%s", strerror(errno));
    *step = 2;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child: %x", status);
    munmap(shared.area, 3 * PAGE);
    close(shared.fd);
}

/* --- many at once --- */

#define ROUNDS 300

struct crew {
    int fd, count;
    atomic_int stop;
    _Atomic uint64_t *slots; /* one a page, in the file */
    struct thread threads[KERNELS_MAX];
};

static uint64_t slot_read(const struct crew *crew, int index)
{
    uint64_t value = UINT64_MAX;

    x86_syscall(SYS_pread64, crew->fd, (long)&value, sizeof(value), index * PAGE, 0, 0);
    return value;
}

/* Counts in its page, by memory and by calls in turn; what it reads the other way is what it wrote, and what it sees of
 * others never goes back. */
static void count_in_slot(struct thread *thread)
{
    struct crew *crew = thread->argument;
    uint64_t seen[KERNELS_MAX] = {0};
    _Atomic uint64_t *own;

    thread_move(thread->index);
    own = crew->slots + thread->index * (PAGE / (long)sizeof(*own));
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        if (i % 2 == 0) {
            atomic_store(own, i);
            if (slot_read(crew, thread->index) != i)
                atomic_store(&thread->result, 1);
        } else {
            x86_syscall(SYS_pwrite64, crew->fd, (long)&i, sizeof(i), thread->index * PAGE, 0, 0);
            if (atomic_load(own) != i)
                atomic_store(&thread->result, 2);
        }
        for (int other = 0; other < crew->count; other++) {
            uint64_t now = (i + (uint64_t)other) % 2 == 0
                               ? slot_read(crew, other)
                               : atomic_load(crew->slots + other * (PAGE / (long)sizeof(*own)));

            if (now < seen[other] || now > ROUNDS)
                atomic_store(&thread->result, 3);
            seen[other] = now;
        }
    }
}

static void test_threads(void)
{
    static struct crew crew;
    char *area;

    crew = (struct crew){.fd = make(KERNELS_MAX), .count = kernels_count()};
    area = map(crew.fd, 0, KERNELS_MAX, READ_WRITE, MAP_SHARED);
    crew.slots = (void *)area;
    for (int i = 0; i < crew.count; i++) {
        crew.threads[i] = (struct thread){.index = i, .argument = &crew};
        CHECK(thread_start(&crew.threads[i], count_in_slot), "%s", strerror(errno));
    }
    for (int i = 0; i < crew.count; i++) {
        CHECK(thread_join(&crew.threads[i]), "thread %d", i);
        CHECK(crew.threads[i].result == 0, "thread %d: %ld", i, (long)crew.threads[i].result);
    }
    munmap(area, KERNELS_MAX * PAGE);
    close(crew.fd);
}

#define CUT_PAGES 5
#define CUTS 25

/* Reads by the kernel's hand, which says EFAULT where a program gets SIGBUS: never what was there before the last cut.
 */
static void read_cut(struct thread *thread)
{
    struct crew *crew = thread->argument;
    uint64_t value;
    int scratch = (int)x86_syscall(SYS_memfd_create, (long)"", 0, 0, 0, 0, 0);

    thread_move(thread->index);
    while (atomic_load(&crew->stop) == 0) {
        for (long page = 1; page < CUT_PAGES; page++) {
            uint64_t before = atomic_load(crew->slots + CUT_PAGES * (PAGE / (long)sizeof(value)));
            long result = x86_syscall(SYS_pwrite64, scratch, (long)((char *)crew->slots + page * PAGE), sizeof(value),
                                      0, 0, 0);

            if (result == -EFAULT)
                continue;
            value = 0;
            x86_syscall(SYS_pread64, scratch, (long)&value, sizeof(value), 0, 0, 0);
            if (result != sizeof(value) || (value != 0 && value < before))
                atomic_store(&thread->result, 1 + (long)value);
        }
    }
    x86_syscall1(SYS_close, scratch);
}

/* A file is cut and written anew, over and over, under readers on all kernels. */
static void test_cuts(void)
{
    static struct crew crew;
    int control = make(1);
    char *area;

    crew = (struct crew){.fd = make(CUT_PAGES), .count = kernels_count()};
    area = mmap(NULL, (CUT_PAGES + 1) * PAGE, READ_WRITE, MAP_SHARED, crew.fd, 0);
    CHECK(mmap(area + CUT_PAGES * PAGE, PAGE, READ_WRITE, MAP_SHARED | MAP_FIXED, control, 0) ==
              area + CUT_PAGES * PAGE,
          "%s", strerror(errno));
    crew.slots = (void *)area;
    for (int i = 1; i < crew.count; i++) {
        crew.threads[i] = (struct thread){.index = i, .argument = &crew};
        CHECK(thread_start(&crew.threads[i], read_cut), "%s", strerror(errno));
    }
    for (uint64_t round = 1; round <= CUTS; round++) {
        if (round % 5 == 0)
            kernels_go((long)round);
        if (round % 2 == 0)
            CHECK(ftruncate(crew.fd, PAGE) == 0 && ftruncate(crew.fd, CUT_PAGES * PAGE) == 0, "%s", strerror(errno));
        else
            CHECK(fallocate(crew.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, (CUT_PAGES - 1) * PAGE) == 0,
                  "%s", strerror(errno));
        atomic_store(crew.slots + CUT_PAGES * (PAGE / (long)sizeof(round)), round); /* what is older is gone */
        for (long page = 1; page < CUT_PAGES; page++) {
            if (page % 2 == 0)
                *(volatile uint64_t *)(void *)(area + page * PAGE) = round;
            else
                CHECK(pwrite(crew.fd, &round, sizeof(round), page * PAGE) == sizeof(round), "%s", strerror(errno));
        }
    }
    atomic_store(&crew.stop, 1);
    for (int i = 1; i < crew.count; i++) {
        CHECK(thread_join(&crew.threads[i]), "thread %d", i);
        CHECK(crew.threads[i].result == 0, "thread %d has seen %ld again", i, (long)crew.threads[i].result - 1);
    }
    kernels_go(0);
    CHECK(audit_own(), "the audit");
    munmap(area, (CUT_PAGES + 1) * PAGE);
    close(crew.fd);
    close(control);
}

/* --- what is left --- */

/* A number of kernel 0's line of /proc/kettle/objects. */
static long object_count(const char *what)
{
    char text[1024] = {0};
    int fd = open("/proc/kettle/objects", O_RDONLY);
    const char *at;

    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return -1;
    close(fd);
    at = strstr(text, what);
    return at != NULL ? atol(at + strlen(what)) : -1;
}

static int child_leaves(void *context)
{
    int fd = make(300);
    char *area = map(fd, 0, 300, READ_WRITE, MAP_SHARED);

    (void)context;
    kernels_go(1);
    memset(area, 1, 300 * PAGE);
    if (fork() == 0)
        _exit(area[100 * PAGE] != 1);
    return 0;
}

static long cache_frames(void)
{
    return object_count(" cache-frames ");
}

static void test_leaks(void)
{
    long before;

    if (!tap_on_kettle()) {
        tap_skip("only Kettle counts its objects");
        return;
    }
    CHECK(tap_fork(child_leaves, NULL) == 0, "a child");
    before = tap_settled(cache_frames, 0);
    for (int i = 0; i < 5; i++)
        CHECK(tap_fork(child_leaves, NULL) == 0, "a child");
    tap_note("%ld frames of files before, %ld now", before, cache_frames());
    UNTIL(cache_frames() <= before, "as few frames of files as before"); /* messages give back the last references */
}

static const struct tap_test tests[] = {
    {"same", "what is written by calls and by mappings is the same file on every kernel", test_same},
    {"holes", "a hole that is mapped and written is data", test_holes},
    {"kept", "a file stays as long as it is mapped", test_kept},
    {"private", "a private mapping has the file's pages until it writes", test_private},
    {"protect", "a shared mapping of a file that is open for writing may become writable", test_protect},
    {"seals", "a file with a writable mapping cannot be sealed against writes, and a sealed one cannot be mapped so",
     test_seals},
    {"fork", "a child shares its parent's mappings of a file", test_fork},
    {"outlives", "a child keeps a file that its parent has unmapped and closed", test_outlives},
    {"truncate", "truncated pages are unmapped everywhere: SIGBUS, and zeros when the file grows again", test_truncate},
    {"punch", "punching a hole takes the pages of mappings on all kernels", test_punch},
    {"truncate-child", "a child on another kernel loses the pages that are truncated", test_truncate_child},
    {"threads", "threads on all kernels that write by memory and read by calls, and the other way round, agree",
     test_threads},
    {"cuts", "no kernel sees a truncated page again", test_cuts},
    {"leaks", "processes that end leave no frames of files", test_leaks},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
