/* test-copy-races: calls that copy from and to memory which threads on other kernels unmap, protect, move and fork
 * meanwhile (copy_changes.h). A call returns a count or EFAULT; the bytes of the count are right. The number is of
 * rounds, in place of the usual. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/harness/thread_place.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/copy_changes.h"
#include "userland/x86.h"

#define ROUNDS 150
#define WORDS (COPY_PAGES * PAGE / 8)
#define MARK 0xc0deull
#define ENOUGH 5 /* calls of each kind of result, at least */

static long rounds;
static uint64_t words[WORDS]; /* that nobody changes */
static char *area;
static uint64_t random_state;

static struct counts {
    long whole, part, fault;
} counts;

/* A word tells the round that wrote it, and its place. */
static uint64_t word(long round, long place)
{
    return MARK << 48 | (uint64_t)round << 16 | (uint64_t)place;
}

/* The word at PLACE is one that some round up to ROUND has written, or of new memory. */
static bool possible(uint64_t value, long round, long place)
{
    return value == 0 ||
           (value >> 48 == MARK && (value & 0xffff) == (uint64_t)place && (long)(value << 16 >> 32) <= round);
}

struct part {
    long round, first, count; /* words */
    enum copy_changes changes;
};

static void fill_words(const struct part *part)
{
    for (long i = 0; i < part->count; i++)
        words[i] = word(part->round, part->first + i);
}

/* The first BYTES of the part, as they have come out of the area, of which IN had gone in, in this round. */
static bool right(const struct part *part, long bytes, long in)
{
    for (long i = 0; i < bytes / 8; i++) {
        uint64_t value = words[i], wanted = word(part->round, part->first + i);
        bool exact = part->changes == COPY_KEEP && i < in / 8;

        if (!CHECK(exact ? value == wanted : possible(value, part->round, part->first + i),
                   "round %ld, word %ld: %lx, not %lx (%ld bytes in, %ld out)", part->round, part->first + i,
                   (unsigned long)value, (unsigned long)wanted, in, bytes))
            return false;
    }
    return true;
}

/* Notes the result of a call for the part; false: it is neither a count nor EFAULT. */
static bool result(const struct part *part, const char *name, long count)
{
    bool fault = count == -1 && errno == EFAULT;

    counts.fault += fault;
    counts.whole += count == part->count * 8;
    counts.part += count > 0 && count < part->count * 8;
    return CHECK(fault || (count >= 0 && count <= part->count * 8), "%s of %ld words in round %ld: %ld, %s", name,
                 part->count, part->round, count, tap_error(errno));
}

/* --- ways into the area and out of it --- */

static int file, pipes[2], sockets[2];

static int left(int fd)
{
    int count = -1;

    ioctl(fd, FIONREAD, &count);
    return count;
}

/* What a read has not taken is the end of what was written. */
static bool take_rest(const struct part *part, int fd)
{
    long size = left(fd), skipped = part->count * 8 - size;

    if (size == 0)
        return true;
    if (!CHECK(skipped >= 0 && skipped % 8 == 0 && read(fd, words, (size_t)size) == size, "%ld bytes are left", size))
        return false;
    for (long i = 0; i < size / 8; i++) {
        if (!CHECK(words[i] == word(part->round, part->first + skipped / 8 + i), "another end"))
            return false;
    }
    return true;
}

static long file_in(const struct part *part, char *at)
{
    MUST(pwrite(file, words, (size_t)part->count * 8, 0));
    return pread(file, at, (size_t)part->count * 8, 0);
}

static long file_out(const struct part *part, char *at)
{
    struct stat facts;
    long count;
    int error;

    MUST(ftruncate(file, 0));
    count = pwrite(file, at, (size_t)part->count * 8, 0);
    error = errno;
    MUST(fstat(file, &facts));
    CHECK(facts.st_size == (count > 0 ? count : 0), "%ld written, size %ld", count, (long)facts.st_size);
    MUST(pread(file, words, sizeof(words), 0));
    errno = error;
    return count;
}

static long stream_in(const struct part *part, char *at, int from, int to)
{
    long count;
    int error;

    MUST(write(to, words, (size_t)part->count * 8));
    count = read(from, at, (size_t)part->count * 8);
    error = errno;
    if (!take_rest(part, from))
        tap_stop();
    errno = error;
    return count;
}

static long stream_out(const struct part *part, char *at, int from, int to)
{
    struct iovec vector[2] = {{at, 8}, {at + 8, (size_t)part->count * 8 - 8}};
    struct msghdr message = {.msg_iov = vector, .msg_iovlen = 2};
    long count = to == pipes[1] ? writev(to, vector, 2) : sendmsg(to, &message, 0);
    int error = errno, come = left(from);

    CHECK(come == (count > 0 ? count : 0), "%ld written, %d have come", count, come);
    if (come > 0)
        MUST(read(from, words, (size_t)come));
    errno = error;
    return count;
}

static long pipe_in(const struct part *part, char *at)
{
    return stream_in(part, at, pipes[0], pipes[1]);
}

static long pipe_out(const struct part *part, char *at)
{
    return stream_out(part, at, pipes[0], pipes[1]);
}

static long socket_in(const struct part *part, char *at)
{
    return stream_in(part, at, sockets[0], sockets[1]);
}

static long socket_out(const struct part *part, char *at)
{
    return stream_out(part, at, sockets[0], sockets[1]);
}

static long reach(const struct part *part, char *at, bool in)
{
    struct iovec own = {words, (size_t)part->count * 8}, other = {at, (size_t)part->count * 8};

    return in ? process_vm_writev(getpid(), &own, 1, &other, 1, 0) : process_vm_readv(getpid(), &own, 1, &other, 1, 0);
}

static long reach_in(const struct part *part, char *at)
{
    return reach(part, at, true);
}

static long reach_out(const struct part *part, char *at)
{
    return reach(part, at, false);
}

struct way {
    const char *name;
    long (*in)(const struct part *part, char *at), (*out)(const struct part *part, char *at);
};

static bool one_round(const struct way *way, struct part *part)
{
    char *at;
    long in, out;

    part->first = (long)(tap_random(&random_state) % (WORDS - 1));
    part->count = 2 + (long)(tap_random(&random_state) % (uint64_t)(WORDS - part->first - 1));
    at = area + part->first * 8;
    kernels_go(part->round / 8);
    fill_words(part);
    in = way->in(part, at);
    if (!result(part, way->name, in))
        return false;
    out = way->out(part, at);
    return result(part, way->name, out) && right(part, out, in);
}

/* Rounds until there were as many as wanted, and calls that succeeded and that failed. */
static bool go_on(long round)
{
    return round < rounds || counts.whole < ENOUGH || counts.fault + counts.part < ENOUGH;
}

static void crossed(const struct way *way, enum copy_changes changes, int type)
{
    struct part part = {.changes = changes};
    bool good = true;

    counts = (struct counts){.whole = 0};
    area = copy_changes_begin(changes, type);
    if (area == NULL)
        return;
    tap_await("calls that succeed, and calls that fail");
    for (part.round = 1; good && go_on(part.round); part.round++)
        good = one_round(way, &part);
    tap_await(NULL);
    copy_changes_end();
    kernels_go(0);
    tap_note("%s: %ld rounds, %ld whole, %ld in part, %ld refused", way->name, part.round, counts.whole, counts.part,
             counts.fault);
    counts.whole = 0;
    CHECK(!good || (one_round(way, &part) && counts.whole == 2), "in the end a call does not do all");
    copy_changes_free();
}

static void crossed_all(const struct way *way)
{
    file = (int)MUST(memfd_create("races", 0));
    MUST(pipe2(pipes, O_NONBLOCK));
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets));
    crossed(way, COPY_KEEP, PRIVATE);
    crossed(way, COPY_KEEP, SHARED);
    crossed(way, COPY_DISCARD, PRIVATE);
    crossed(way, COPY_DISCARD, SHARED);
    kernels_go(0);
    close(file);
    for (int i = 0; i < 2; i++) {
        close(pipes[i]);
        close(sockets[i]);
    }
}

static void test_files(void)
{
    crossed_all(&(struct way){"files", file_in, file_out});
}

static void test_pipes(void)
{
    crossed_all(&(struct way){"pipes", pipe_in, pipe_out});
}

static void test_sockets(void)
{
    crossed_all(&(struct way){"sockets", socket_in, socket_out});
}

static void test_reach(void)
{
    crossed_all(&(struct way){"process_vm_readv", reach_in, reach_out});
}

/* --- calls that have results of their own --- */

static char *some_place(long size)
{
    return area + (long)(tap_random(&random_state) % (uint64_t)(COPY_PAGES * PAGE - size)) / 8 * 8;
}

static bool each_result(const char *name, long value, bool fault, bool good)
{
    counts.fault += fault;
    counts.whole += good;
    return CHECK(fault || good, "%s: %ld, %s", name, value, tap_error(errno));
}

/* Runs ONE until both of its results have come. */
static void repeat(bool (*one)(void), const char *name)
{
    bool good = true;

    counts = (struct counts){.whole = 0};
    area = copy_changes_begin(COPY_DISCARD, PRIVATE);
    if (area == NULL)
        return;
    tap_await("calls that succeed, and calls that fail");
    for (long i = 0; good && go_on(i / 4); i++) {
        kernels_go(i / 32);
        good = one();
    }
    tap_await(NULL);
    copy_changes_end();
    kernels_go(0);
    tap_note("%s: %ld done, %ld refused", name, counts.whole, counts.fault);
    CHECK(one(), "in the end");
    copy_changes_free();
}

static char listing[2 * PAGE] __attribute__((aligned(8)));
static long listing_size;

static bool list_once(void)
{
    static char rest[2 * PAGE] __attribute__((aligned(8)));
    long count, size;

    MUST(lseek(file, 0, SEEK_SET));
    count = syscall(SYS_getdents64, file, some_place(300), 300);
    if (!each_result("getdents64", count, count == -1 && errno == EFAULT, count > 0 && count <= 300))
        return false;
    size = MUST(syscall(SYS_getdents64, file, rest, sizeof(rest)));
    return CHECK(count < 0 ? size <= listing_size : size == listing_size - count, "%ld, and then %ld", count, size);
}

static void test_listing(void)
{
    file = (int)MUST(open("/", O_RDONLY | O_DIRECTORY));
    listing_size = MUST(syscall(SYS_getdents64, file, listing, sizeof(listing)));
    repeat(list_once, "getdents64");
    close(file);
}

static bool futex_once(void)
{
    static const struct timespec soon = {.tv_nsec = 20000};
    int *at = (int *)(void *)some_place(8);
    long waited, woken;

    /* private or not; the second call also changes the word */
    waited = syscall(SYS_futex, at, tap_random(&random_state) % 2 * 128, 0, &soon, NULL, 0);
    if (!each_result("a wait", waited, waited == -1 && errno == EFAULT,
                     waited == -1 && (errno == ETIMEDOUT || errno == EAGAIN)))
        return false;
    woken = syscall(SYS_futex, at, 5 | 128, 1, 1, at, 1 << 28 | 1 << 12);
    return each_result("a wake", woken, woken == -1 && errno == EFAULT, woken == 0);
}

static void test_futexes(void)
{
    repeat(futex_once, "futex");
}

static int set, event;

/* An event is told once; that of a wait that was refused, by the next one, unless the memory went away in between
 * (kernel/file/event/epoll.md). */
static bool epoll_once(void)
{
    struct epoll_event told;
    long count, next;

    MUST(eventfd_write(event, 1));
    count = epoll_wait(set, (struct epoll_event *)(void *)some_place(16), 1, 0);
    if (!each_result("epoll_wait", count, count == -1 && errno == EFAULT, count == 1))
        return false;
    next = MUST(epoll_wait(set, &told, 1, 0));
    return CHECK(next <= (count < 0), "%ld, and then %ld events", count, next);
}

static void test_epoll(void)
{
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLET};

    set = (int)MUST(epoll_create1(0));
    event = (int)MUST(eventfd(0, EFD_NONBLOCK));
    MUST(epoll_ctl(set, EPOLL_CTL_ADD, event, &wanted));
    repeat(epoll_once, "epoll_wait");
    close(set);
    close(event);
}

static void test_audit(void)
{
    CHECK(audit_own(), "the kernels do not agree");
}

static const struct tap_test tests[] = {
    {"files", "reads and writes of a file give right bytes, or EFAULT, while the memory changes", test_files},
    {"pipes", "so do those of a pipe, and what is left in it is its end", test_pipes},
    {"sockets", "so do those of a stream socket", test_sockets},
    {"reach", "so do process_vm_readv and process_vm_writev", test_reach},
    {"listing", "getdents64 gives entries or EFAULT while the memory changes", test_listing},
    {"futexes", "a futex's word can be away at any time: its calls say EFAULT", test_futexes},
    {"epoll", "an edge is told once, or EFAULT, while the memory for it changes", test_epoll},
    {"audit", "the audit finds the kernels in agreement about this process", test_audit},
};

int main(int argc, char **argv)
{
    rounds = ROUNDS;
    tap_take_number(&argc, &argv, &rounds);
    kernels_find();
    thread_places_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
