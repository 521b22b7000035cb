/* test-memory-races: calls about memory that another thread, kernel or the end of the process crosses: what was looked
 * at first is something else when it is done. The number is of rounds, in place of the usual. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "userland/thread.h"

#define ROUNDS 20 /* where the number is not said */
#define START 16  /* bytes of the file that are looked at */
#define OWNER_DIED 0x40000000

static long rounds;

/* --- a place that another thread makes one thing and then another --- */

static struct {
    char *place; /* a page, with nothing around it */
    int file;    /* that may be read */
    char good[START];
    int type; /* of the file's mapping */
    atomic_bool over;
} toggled;

static void toggle(struct thread *thread)
{
    (void)thread;
    kernels_go(0);
    while (!toggled.over) {
        mmap(toggled.place, PAGE, READ_WRITE, SHARED | MAP_FIXED, -1, 0);
        mmap(toggled.place, PAGE, PROT_READ, toggled.type | MAP_FIXED, toggled.file, 0);
        if (toggled.type == MAP_PRIVATE)
            (void)*(volatile char *)toggled.place;
    }
}

static bool toggle_begin(struct thread *thread, int type)
{
    char *area = mmap(NULL, 16 * PAGE, PROT_NONE, PRIVATE, -1, 0);
    const char *name = access("/share/test/garbage", R_OK) == 0 ? "/share/test/garbage" : "/proc/self/exe";

    toggled.place = area + 4 * PAGE;
    toggled.type = type;
    toggled.file = open(name, O_RDONLY);
    atomic_store(&toggled.over, false);
    if (!CHECK(toggled.file >= 0 && pread(toggled.file, toggled.good, START, 0) == START, "%s", strerror(errno)))
        return false;
    return CHECK(thread_start(thread, toggle), "%s", strerror(errno));
}

static void toggle_end(struct thread *thread)
{
    atomic_store(&toggled.over, true);
    CHECK(thread_join(thread), "the thread does not end");
    munmap(toggled.place - 4 * PAGE, 16 * PAGE);
    close(toggled.file);
    kernels_go(0);
}

/* The file is mapped, and has what it had. */
static bool file_is_good(void)
{
    char *fresh = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, toggled.file, 0);
    bool good = CHECK(fresh != MAP_FAILED, "%s", strerror(errno)) &&
                CHECK(memcmp(fresh, toggled.good, START) == 0, "the file has changed");

    munmap(fresh, PAGE);
    return good;
}

/* A second mapping of what is shared (mremap of length 0): never a file's page that can be written. */
static void test_duplicate(void)
{
    int zeros = open("/dev/zero", O_RDONLY);
    struct thread thread = {.index = 0};
    bool good = toggle_begin(&thread, MAP_SHARED);

    kernels_go(1);
    for (long i = 0; i < rounds * 20 && good; i++) {
        char *second = mremap(toggled.place, 0, PAGE, MREMAP_MAYMOVE);

        if (second == MAP_FAILED)
            continue;
        if (memcmp(second, toggled.good, START) == 0)
            good = CHECK(read(zeros, second, 8) == -1 && errno == EFAULT, "a file for reading can be written") &&
                   file_is_good();
        munmap(second, PAGE);
    }
    toggle_end(&thread);
    close(zeros);
}

/* MADV_REMOVE clears what is shared and has no file behind it, and nothing else. */
static void test_remove(void)
{
    struct thread thread = {.index = 0};
    bool good = toggle_begin(&thread, MAP_PRIVATE);

    kernels_go(1);
    for (long i = 0; i < rounds * 20 && good; i++) {
        madvise(toggled.place, PAGE, MADV_REMOVE);
        if (i % 20 == 0)
            good = file_is_good();
    }
    good = good && file_is_good();
    toggle_end(&thread);
}

/* --- MADV_WIPEONFORK of memory that becomes shared --- */

static struct {
    char *place;
    atomic_int stop; /* the round at which the other is to stand still, negative: to end */
    atomic_int stopped;
    atomic_bool shared;
} wiped;

static bool stop_comes(void)
{
    for (int i = 0; i < 6000; i++) {
        if (atomic_load_explicit(&wiped.stop, memory_order_relaxed) != 0)
            return true;
    }
    return false;
}

static void share_and_not(struct thread *thread)
{
    (void)thread;
    kernels_go(0);
    for (;;) {
        int round;

        mmap(wiped.place, PAGE, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0);
        wiped.shared = false;
        if (!stop_comes()) {
            mmap(wiped.place, PAGE, READ_WRITE, SHARED | MAP_FIXED, -1, 0);
            wiped.shared = true;
            stop_comes();
        }
        round = wiped.stop;
        if (round == 0)
            continue;
        if (round < 0)
            return;
        atomic_store(&wiped.stopped, round);
        while (wiped.stop == round)
            syscall(SYS_sched_yield);
    }
}

static int end_with(void *context)
{
    return *(volatile char *)context;
}

static void test_wipe(void)
{
    struct thread thread = {.index = 0};
    char *area = mmap(NULL, 16 * PAGE, PROT_NONE, PRIVATE, -1, 0);
    bool good = true;

    wiped.place = area + 4 * PAGE;
    if (!CHECK(thread_start(&thread, share_and_not), "%s", strerror(errno)))
        return;
    for (int i = 1; i <= rounds && good; i++) {
        kernels_go(1);
        if (madvise(wiped.place, PAGE, MADV_WIPEONFORK) != 0)
            continue;
        wiped.stop = i;
        good = thread_wait(&wiped.stopped, i);
        if (wiped.shared) {
            *(volatile char *)wiped.place = 2;
            kernels_go(0);
            good = CHECK(tap_fork(end_with, wiped.place) == 2, "a child does not see what is shared");
        }
        wiped.stop = 0;
    }
    wiped.stop = -1;
    CHECK(thread_join(&thread), "the thread does not end");
    kernels_go(0);
    munmap(area, 16 * PAGE);
}

/* --- exec --- */

static void exec_and_end(void)
{
    char *path = (char *)(uintptr_t)getauxval(AT_EXECFN); // NOLINT(performance-no-int-to-ptr)
    char *const again[] = {path, "@ends", NULL};
    char *const nothing[] = {NULL};

    execve(path, again, nothing);
}

/* The word that is cleared at the end lies in a page that another kernel holds. */
static int exec_after_away(void *context)
{
    volatile long *page = mmap(NULL, 8 * PAGE, READ_WRITE, PRIVATE, -1, 0);
    const long *round = context;

    kernels_go(1);
    for (long i = 0; i < 8; i++)
        page[i * PAGE / 8] = 1;
    kernels_go(0);
    for (long i = 0; i < 8; i++)
        page[i * PAGE / 8 + 1] = 2;
    syscall(SYS_set_tid_address, &page[*round % 8 * PAGE / 8]);
    exec_and_end();
    return 1;
}

static void test_exec_clears(void)
{
    bool good = true;

    for (long i = 0; i < rounds && good; i++)
        good = CHECK(tap_fork(exec_after_away, &i) == 0, "round %ld", i);
}

struct robust { /* as linux/futex.h's lists */
    struct robust *next;
    long offset;
    struct robust *pending;
};

struct robust_word {
    struct robust *next;
    volatile int word;
};

/* The list lies in memory that was mapped away from home; the word in memory that is shared. */
static int exec_with_robust(void *context)
{
    struct robust_word *shared = context;
    struct robust *head;

    kernels_go(1);
    head = mmap(NULL, PAGE, READ_WRITE, PRIVATE, -1, 0);
    head->next = (struct robust *)(void *)shared;
    head->offset = offsetof(struct robust_word, word);
    shared->next = head;
    shared->word = getpid();
    if (syscall(SYS_set_robust_list, head, sizeof(*head)) != 0)
        return 1;
    exec_and_end();
    return 1;
}

static void test_exec_robust(void)
{
    struct robust_word *shared = mmap(NULL, PAGE, READ_WRITE, SHARED, -1, 0);

    CHECK(tap_fork(exec_with_robust, shared) == 0, "the child");
    CHECK((shared->word & OWNER_DIED) != 0, "the word is %x", (unsigned)shared->word);
    munmap(shared, PAGE);
}

/* --- /proc/PID/maps of a process that ends --- */

static atomic_int mapped;

static void map_and_touch(struct thread *thread)
{
    (void)thread;
    kernels_go(1);
    for (;;) {
        volatile char *area = mmap(NULL, 16 * PAGE, READ_WRITE, PRIVATE, -1, 0);

        for (long i = 0; i < 16; i++)
            area[i * PAGE] = 1;
        if (atomic_fetch_add(&mapped, 1) % 3 == 0)
            munmap((void *)(uintptr_t)area, 16 * PAGE);
    }
}

static void end_early(long round)
{
    static struct thread thread;

    if (!thread_start(&thread, map_and_touch))
        _exit(1);
    thread_wait(&mapped, 2 + (int)(round % 7));
    _exit(0);
}

static void test_maps(void)
{
    static char text[65536];
    long bytes = 0;

    for (long i = 0; i < rounds; i++) {
        char path[64];
        int status = -1;
        pid_t child = fork();

        if (child == 0)
            end_early(i);
        snprintf(path, sizeof(path), "/proc/%d/maps", (int)child);
        while (waitpid(child, &status, WNOHANG) == 0) {
            int fd = open(path, O_RDONLY);
            ssize_t part = fd >= 0 ? read(fd, text, sizeof(text)) : 0;

            bytes += part > 0 ? part : 0;
            if (fd >= 0)
                close(fd);
        }
        if (!CHECK(status == 0, "child %ld: status %x", i, (unsigned)status))
            return;
    }
    tap_note("%ld bytes of %ld children", bytes, rounds);
}

static void test_audit(void)
{
    CHECK(audit_own(), "the kernels do not agree");
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"duplicate", "a second mapping of memory that becomes a file's is never writable by mistake", test_duplicate},
        {"remove", "memory that becomes a file's is not cleared by MADV_REMOVE", test_remove},
        {"wipe", "memory that becomes shared is not wiped in a child", test_wipe},
        {"exec-clears", "exec clears its word in a page that another kernel held", test_exec_clears},
        {"exec-robust", "exec marks a robust lock whose list lies on a page of another kernel", test_exec_robust},
        {"maps", "a process's areas can be read while it ends", test_maps},
        {"audit", "the audit finds the kernels in agreement about this process", test_audit},
    };

    if (argc > 1 && strcmp(argv[1], "@ends") == 0)
        return 0;
    rounds = ROUNDS;
    tap_take_number(&argc, &argv, &rounds);
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
