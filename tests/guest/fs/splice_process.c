/* Processes that splice at once, from and into pipes of each other's kernels. A child's status is 0 when all was as it
 * should be. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/fs/splice.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"

#define STREAM (192 * 1024)
#define STAGES 3
#define CREW 3
#define PART 5000 /* bytes of one splice: neither pages nor the pipe's room are multiples */
#define BLOCK 4096

/* The byte at AT of every stream. */
static unsigned char byte_at(size_t at)
{
    return (unsigned char)(at * 7 + at / 251);
}

static bool stream_write(int fd)
{
    unsigned char block[BLOCK];

    for (size_t at = 0; at < STREAM; at += BLOCK) {
        for (size_t i = 0; i < BLOCK; i++)
            block[i] = byte_at(at + i);
        if (write(fd, block, BLOCK) != BLOCK)
            return false;
    }
    return true;
}

/* All that FD gives is the stream. */
static bool stream_read(int fd)
{
    unsigned char block[BLOCK];
    size_t at = 0;

    for (;;) {
        ssize_t count = read(fd, block, sizeof(block));

        if (count <= 0)
            return count == 0 && at == STREAM;
        for (ssize_t i = 0; i < count; i++) {
            if (block[i] != byte_at(at++))
                return false;
        }
    }
}

/* Splices until IN ends. */
static bool splice_all(int in, int out, size_t part)
{
    ssize_t count;

    do
        count = splice(in, NULL, out, NULL, part, 0);
    while (count > 0);
    return count == 0;
}

/* True when COUNT children ended well. */
static bool children_well(int count)
{
    bool well = true;

    for (int i = 0; i < count; i++) {
        int status = -1;

        well &= wait(&status) > 0 && status == 0;
    }
    return well;
}

/* A child that is at home on the NUMBERth kernel; what the caller has not written yet is its own. */
static pid_t fork_at(int number)
{
    pid_t pid;

    kernels_go(number);
    pid = fork();
    return pid;
}

/* --- waiting --- */

void splice_test_waits(void)
{
    static char block[65536];
    int a[2], b[2], go[2];
    pid_t child;
    char byte;

    for (int k = 0; k < kernels_count(); k++) {
        if (!splice_pipe(a, 0) || !splice_pipe(b, 0) || !splice_pipe(go, 0))
            return;
        child = fork_at(k);
        if (child == 0) { /* waits for bytes, then for room */
            bool well = splice(a[0], NULL, b[1], NULL, 100, 0) == 5;

            well &= write(go[1], "!", 1) == 1 && splice(a[0], NULL, b[1], NULL, 100, 0) == 4;
            _exit(well ? 0 : 1);
        }
        kernels_go(0);
        UNTIL(tap_sleeps(child, child), "a splice that waits for bytes");
        CHECK(write(a[1], "first", 5) == 5 && read(go[0], &byte, 1) == 1, "%s", strerror(errno));
        CHECK(read(b[0], block, sizeof(block)) == 5 && memcmp(block, "first", 5) == 0, "%s", strerror(errno));
        CHECK(write(b[1], block, sizeof(block)) == sizeof(block) && write(a[1], "then", 4) == 4, "%s", strerror(errno));
        usleep(10000); /* so that it waits for room by now; when it does not yet, it need not wait */
        CHECK(read(b[0], block, sizeof(block)) > 0, "%s", strerror(errno));
        CHECK(children_well(1), "the child on kernel %d", k);
        splice_close(a);
        splice_close(b);
        splice_close(go);
    }
}

/* --- one behind the other --- */

/* Process DEPTH of a chain: makes the next one on another kernel, and splices with a crew, from all kernels, what IN
 * gives into a pipe of its own to that. Returns the status. */
static int stage(int depth, int in)
{
    int next[2];
    bool well = true;

    if (depth == STAGES)
        return stream_read(in) ? 0 : 1;
    if (pipe(next) != 0)
        return 1;
    if (fork_at(depth + 1) == 0) {
        close(in);
        close(next[1]);
        _exit(stage(depth + 1, next[0]));
    }
    close(next[0]);
    for (int i = 1; i < CREW; i++) {
        if (fork_at(depth + i) == 0) {
            kernels_go(depth + 2 * i);
            _exit(splice_all(in, next[1], PART) ? 0 : 1);
        }
    }
    well &= splice_all(in, next[1], 100000);
    close(next[1]);
    close(in);
    return well && children_well(CREW) ? 0 : 1;
}

void splice_test_relay(void)
{
    int first[2];

    if (!splice_pipe(first, 0))
        return;
    if (fork_at(0) == 0) {
        close(first[1]);
        _exit(stage(0, first[0]));
    }
    close(first[0]);
    kernels_go(1);
    CHECK(stream_write(first[1]), "%s", strerror(errno));
    close(first[1]);
    CHECK(children_well(1), "the stream has changed on its way");
    kernels_go(0);
}

/* --- at once --- */

/* How often each byte was there, in memory that processes share. */
struct tally {
    unsigned long counts[256];
};

static struct tally *tally_new(void)
{
    struct tally *tally = (struct tally *)spread_memory_map(1, SHARED);

    if (tally != NULL)
        memset(tally, 0, sizeof(*tally));
    return tally;
}

static bool tally_file(struct tally *tally, int fd)
{
    unsigned char block[BLOCK];

    for (;;) {
        ssize_t count = read(fd, block, sizeof(block));

        if (count <= 0)
            return count == 0;
        for (ssize_t i = 0; i < count; i++)
            __atomic_fetch_add(&tally->counts[block[i]], 1, __ATOMIC_RELAXED);
    }
}

static void expect_tally(const struct tally *tally, unsigned long times)
{
    unsigned long expected[256] = {0};
    int wrong = 0;

    for (size_t at = 0; at < STREAM; at++)
        expected[byte_at(at)] += times;
    for (int i = 0; i < 256; i++)
        wrong += tally->counts[i] != expected[i];
    CHECK(wrong == 0, "%d values were there more or less often than they were written; 0: %lu, not %lu", wrong,
          tally->counts[0], expected[0]);
}

void splice_test_shared_source(void)
{
    struct tally *tally = tally_new();
    int source[2];

    if (tally == NULL || !splice_pipe(source, 0))
        return;
    for (int i = 0; i < 2 * CREW; i++) {
        if (fork_at(i) == 0) {
            int file = memfd_create("splice", 0);
            bool well;

            close(source[1]);
            if (i % 2 == 0) { /* by way of a file */
                well = splice_all(source[0], file, PART) && lseek(file, 0, SEEK_SET) == 0 && tally_file(tally, file);
            } else {
                well = tally_file(tally, source[0]);
            }
            _exit(well ? 0 : 1);
        }
    }
    close(source[0]);
    kernels_go(1);
    CHECK(stream_write(source[1]), "%s", strerror(errno));
    close(source[1]);
    CHECK(children_well(2 * CREW), "a child has failed");
    kernels_go(0);
    expect_tally(tally, 1);
    munmap(tally, PAGE);
}

void splice_test_shared_target(void)
{
    struct tally *tally = tally_new();
    int target[2];

    if (tally == NULL || !splice_pipe(target, 0))
        return;
    for (int i = 0; i < CREW; i++) {
        if (fork_at(i + 1) == 0) {
            int file = memfd_create("splice", 0);

            close(target[0]);
            _exit(stream_write(file) && lseek(file, 0, SEEK_SET) == 0 && splice_all(file, target[1], PART + 977) ? 0
                                                                                                                 : 1);
        }
    }
    close(target[1]);
    kernels_go(2);
    CHECK(tally_file(tally, target[0]), "%s", strerror(errno));
    CHECK(children_well(CREW), "a child has failed");
    close(target[0]);
    kernels_go(0);
    expect_tally(tally, CREW);
    munmap(tally, PAGE);
}

/* --- the end of a pipe, and full ones --- */

static void fill(int fd)
{
    static const char block[BLOCK];

    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (write(fd, block, sizeof(block)) > 0)
        ;
    fcntl(fd, F_SETFL, 0);
}

/* One of a pipe that has ended, and one that is full; its last reader goes while somebody waits for its room. */
void splice_test_end(void)
{
    int empty[2], full[2];
    pid_t reader;

    if (!splice_pipe(empty, 0) || !splice_pipe(full, 0))
        return;
    close(empty[1]);
    fill(full[1]);
    reader = fork();
    if (reader == 0) {
        close(full[1]);
        UNTIL(tap_sleeps(getppid(), getppid()), "a splice that waits for room");
        _exit(0);
    }
    close(full[0]);
    CHECK_ERROR(splice(empty[0], NULL, full[1], NULL, 10, 0), EPIPE);
    CHECK(children_well(1), "%s", strerror(errno));
    close(empty[0]);
    close(full[1]);
}

/* Neither can go on: how often do they wait? */
static void wait_both(int a_in, int a_out, int b_in, int b_out)
{
    struct rusage before, after;
    pid_t children[2];

    fill(a_in);
    fill(b_in);
    getrusage(RUSAGE_CHILDREN, &before);
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            kernels_go(i + 1);
            _exit(splice(i == 0 ? a_out : b_out, NULL, i == 0 ? b_in : a_in, NULL, 10, 0) == 10 ? 0 : 1);
        }
    }
    usleep(300000); /* time for waits that ought not to be */
    for (int i = 0; i < 2; i++) {
        kill(children[i], SIGKILL);
        CHECK(waitpid(children[i], NULL, 0) == children[i], "%s", strerror(errno));
    }
    getrusage(RUSAGE_CHILDREN, &after);
    CHECK(after.ru_nvcsw - before.ru_nvcsw < 100, "they waited %ld times", after.ru_nvcsw - before.ru_nvcsw);
}

void splice_test_full(void)
{
    int a[2], b[2], fifos[2];

    if (!splice_pipe(a, 0) || !splice_pipe(b, 0))
        return;
    wait_both(a[1], a[0], b[1], b[0]);
    for (int i = 0; i < 2; i++) {
        char name[] = "/tmp/splice-fifo0";

        name[sizeof(name) - 2] = (char)('0' + i);
        unlink(name);
        CHECK(mkfifo(name, 0600) == 0, "%s", strerror(errno));
        fifos[i] = open(name, O_RDWR);
        unlink(name);
    }
    wait_both(fifos[0], fifos[0], fifos[1], fifos[1]);
    close(fifos[0]);
    close(fifos[1]);
    splice_close(a);
    splice_close(b);
}

/* --- signals --- */

#define WRITERS 3
#define ROOM (1024 * 1024) /* of the pipe */
#define BEFORE 65536       /* bytes of a splice until the signal comes */
#define MOST (16 * ROOM)   /* that it asks for */

static struct turn {
    volatile int begun;     /* splices */
    volatile int over;      /* the same */
    volatile int signalled; /* the one that was sent a signal */
    volatile off_t at_most; /* what it may have moved by its end */
} * turn;

static void on_signal(int number)
{
    (void)number;
}

_Noreturn static void write_for_ever(int fd)
{
    static char block[65536];

    for (;;)
        (void)!write(fd, block, sizeof(block));
}

static off_t size_of(int fd)
{
    struct stat facts;

    return fstat(fd, &facts) == 0 ? facts.st_size : -1;
}

/* Sends THREAD of PROCESS a signal in the middle of each splice to FILE that goes on long enough. */
_Noreturn static void signal_splicer(pid_t process, pid_t thread, int file)
{
    for (;;) {
        int number = turn->begun;

        if (number == turn->over || number == turn->signalled || size_of(file) < BEFORE)
            continue;
        if (number == turn->over || syscall(SYS_tgkill, process, thread, SIGUSR1) != 0)
            continue;
        turn->at_most = size_of(file) + (tap_on_kettle() ? 2 * 65536 : 2 * ROOM); /* one piece has begun */
        turn->signalled = number;
    }
}

static int waiting(int fd)
{
    int count = -1;

    ioctl(fd, FIONREAD, &count);
    return count;
}

/* How many of some splices were sent a signal before they ended. None goes on after that, however many bytes come. */
static int splice_under_signals(int from, int to)
{
    int signalled = 0;

    for (int round = 1; round <= 30; round++) {
        ssize_t count;
        off_t moved;

        CHECK(ftruncate(to, 0) == 0 && lseek(to, 0, SEEK_SET) == 0, "%s", strerror(errno));
        while (waiting(from) < ROOM)
            sched_yield();
        turn->begun = round;
        count = splice(from, NULL, to, NULL, MOST, 0);
        moved = size_of(to);
        turn->over = round;
        CHECK(count > 0 || (count < 0 && errno == EINTR), "%ld: %s", (long)count, strerror(errno));
        CHECK(count < 0 || count == moved, "%ld of %ld", (long)count, (long)moved);
        if (turn->signalled != round)
            continue;
        signalled++;
        CHECK(moved <= turn->at_most, "%ld bytes, and not %ld at most", (long)moved, (long)turn->at_most);
    }
    return signalled;
}

void splice_test_stream_interrupted(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    int ends[2], file = memfd_create("splice", 0);
    pid_t children[WRITERS + 1];

    turn = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(turn != MAP_FAILED && file >= 0, "%s", strerror(errno)) || !splice_pipe(ends, 0))
        return;
    CHECK(fcntl(ends[0], F_SETPIPE_SZ, ROOM) == ROOM, "%s", strerror(errno));
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0, "%s", strerror(errno));
    for (int i = 0; i <= WRITERS; i++) {
        pid_t own = getpid(), thread = (pid_t)syscall(SYS_gettid);

        children[i] = fork();
        if (children[i] == 0) {
            kernels_go(i + 1);
            if (i == WRITERS)
                signal_splicer(own, thread, file);
            write_for_ever(ends[1]);
        }
    }
    tap_note("%d of 30 splices were sent a signal", splice_under_signals(ends[0], file));
    for (int i = 0; i <= WRITERS; i++)
        kill(children[i], SIGKILL);
    for (int i = 0; i <= WRITERS; i++)
        CHECK(waitpid(children[i], NULL, 0) == children[i], "%s", strerror(errno));
    CHECK(signal(SIGUSR1, SIG_DFL) != SIG_ERR, "%s", strerror(errno));
    munmap(turn, PAGE);
    splice_close(ends);
    close(file);
}
