/* Words in memory that processes share, of every kind: a word is the same wherever the memory is mapped, and whichever
 * frame its page has. The memory is mapped before others use it, by whoever calls. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/futex/futex.h"
#include "userland/x86.h"

#ifndef MREMAP_MAYMOVE
#define MREMAP_MAYMOVE 1
#define MREMAP_FIXED 2
#endif
#ifndef FALLOC_FL_PUNCH_HOLE
#define FALLOC_FL_KEEP_SIZE 1
#define FALLOC_FL_PUNCH_HOLE 2
#endif

#define PAGE 4096u
#define PAGES 96u
#define BYTES ((size_t)PAGES * PAGE)
#define ROUNDS 12
#define CHILDREN 4
#define TIMES 150
#define GONE_TIMES 600 /* more than there are numbers of objects at first */

enum kind { ANONYMOUS, MEMFD, NAMED_FILE, SEGMENT, KINDS };

static const char *const names[KINDS] = {"anonymous memory", "a memfd", "a file", "a segment"};

static struct crew crew;
static uint8_t *place[2]; /* the same memory, twice */
static int file;          /* its descriptor, or -1 */
static int told[2];       /* a pipe */
static word here,
    turn[CREW_MAX]; /* members that have come to a wait; the round in which each is to be woken, from 1 on */

static bool map_file(int fd)
{
    file = fd;
    if (!CHECK(fd >= 0 && ftruncate(fd, (off_t)BYTES) == 0, "%s", strerror(errno)))
        return false;
    for (int i = 0; i < 2; i++)
        place[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return true;
}

static bool map_segment(void)
{
    int id = shmget(IPC_PRIVATE, BYTES, 0600);

    for (int i = 0; i < 2; i++)
        place[i] = shmat(id, NULL, 0);
    return CHECK(shmctl(id, IPC_RMID, NULL) == 0, "%s", strerror(errno));
}

static bool map_anonymous(void)
{
    place[0] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    place[1] = mremap(place[0], 0, BYTES, MREMAP_MAYMOVE);
    return true;
}

static int open_file(void)
{
    int fd = open("/test-futex.memory", O_RDWR | O_CREAT | O_TRUNC, 0600);

    unlink("/test-futex.memory");
    return fd;
}

static bool map_twice(enum kind kind)
{
    file = -1;
    here = 0;
    return (kind == ANONYMOUS    ? map_anonymous()
            : kind == MEMFD      ? map_file(memfd_create("futex", 0))
            : kind == NAMED_FILE ? map_file(open_file())
                                 : map_segment()) &&
           CHECK(place[0] != MAP_FAILED && place[1] != MAP_FAILED, "%s: %s", names[kind], strerror(errno));
}

static void unmap(enum kind kind)
{
    for (int i = 0; i < 2; i++) {
        if (kind == SEGMENT)
            shmdt(place[i]);
        else
            munmap(place[i], BYTES);
    }
    if (file >= 0)
        close(file);
}

static word *word_at(int where, uint32_t page)
{
    return (word *)(void *)(place[where] + (size_t)page * PAGE + 8 * (page % 500));
}

static uint32_t page_of(int index, int round)
{
    return (uint32_t)(index * 7 + round * 13) % PAGES;
}

/* Each waits at a page of its own, at either place. */
static void wait_at_pages(struct member *member)
{
    for (int round = 0; round < ROUNDS; round++) {
        word *at = word_at((member->index + round) % 2, page_of(member->index, round));

        here++;
        member->result += futex(at, WAIT, 0, NULL, NULL, 0) == 0 && turn[member->index] == (uint32_t)round + 1;
    }
}

void futex_test_objects(void)
{
    for (enum kind kind = 0; kind < KINDS; kind++) {
        int count = crew_size();
        long right;

        if (!map_twice(kind))
            return;
        memset((void *)turn, 0, sizeof(turn));
        crew_start(&crew, count, wait_at_pages);
        for (int round = 0; round < ROUNDS; round++) {
            wait_asleep(&crew, &here, (uint32_t)((round + 1) * count));
            for (int i = count - 1; i >= 0; i--) {
                long result;

                turn[i] = (uint32_t)round + 1;
                result = futex(word_at((i + round + 1) % 2, page_of(i, round)), WAKE, 10, NULL, NULL, 0);
                CHECK(result == 1, "%s: %ld woken at page %u", names[kind], result, page_of(i, round));
            }
        }
        right = crew_end(&crew);
        CHECK(right == (long)count * ROUNDS, "%s: %ld of %d waits were woken at their word", names[kind], right,
              count * ROUNDS);
        unmap(kind);
    }
}

static void wait_at_five(struct member *member)
{
    here++;
    member->result = futex(word_at(0, 5), WAIT, 0, NULL, NULL, 0) == 0;
}

/* Starts a crew that waits at page 5, calls CHANGE, and wakes the crew by the second place. */
static void wake_after(enum kind kind, bool (*change)(void), const char *what)
{
    long count = crew_size(), woken;

    if (!map_twice(kind))
        return;
    crew_start(&crew, (int)count, wait_at_five);
    wait_asleep(&crew, &here, (uint32_t)count);
    CHECK(change(), "%s, %s: %s", names[kind], what, strerror(errno));
    woken = futex(word_at(1, 5), WAKE, 1000, NULL, NULL, 0);
    CHECK(woken == count, "%s, %s: %ld of %ld woken", names[kind], what, woken, count);
    futex(word_at(0, 5), WAKE, 1000, NULL, NULL, 0); /* after a failure, so that the crew ends */
    CHECK(crew_end(&crew) == count, "%s, %s: results", names[kind], what);
    unmap(kind);
}

static bool move_place(void)
{
    uint8_t *to = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    place[1] = mremap(place[1], BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    return place[1] == to;
}

/* The file's page goes, and with it its frame; the next access makes a new one. */
static bool punch(void)
{
    *word_at(1, 6) = 7;
    if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 10 * PAGE) != 0 || *word_at(1, 6) != 0)
        return false;
    *word_at(0, 4) = 1;
    return *word_at(1, 4) == 1;
}

static bool cut(void)
{
    return ftruncate(file, 0) == 0 && ftruncate(file, (off_t)BYTES) == 0 && *word_at(1, 5) == 0;
}

void futex_test_object_changes(void)
{
    for (enum kind kind = 0; kind < KINDS; kind++)
        wake_after(kind, move_place, "moved to another address");
    wake_after(MEMFD, punch, "pages punched");
    wake_after(MEMFD, cut, "cut and made longer");
    wake_after(NAMED_FILE, punch, "pages punched");
}

static void wait_a_while(struct member *member)
{
    struct timespec soon = timespec_of(300 * MILLISECOND);

    here++;
    member->result = futex(word_at(0, 5), WAIT, 0, &soon, NULL, 0) == -ETIMEDOUT;
}

/* Memory that is mapped where other memory was, or that has the same page of another object, has other words. */
void futex_test_objects_apart(void)
{
    for (enum kind kind = 0; kind < KINDS; kind++) {
        uint8_t *first[2];
        int first_file;
        long woken;

        if (!map_twice(kind))
            return;
        memcpy(first, place, sizeof(first));
        first_file = file;
        crew_start(&crew, 2, wait_a_while);
        wait_asleep(&crew, &here, 2);
        if (!map_twice(kind))
            return;
        woken = futex(word_at(0, 5), WAKE, 10, NULL, NULL, 0) + futex(word_at(1, 5), WAKE, 10, NULL, NULL, 0);
        CHECK(woken == 0, "%s: %ld woken by another object's page", names[kind], woken);
        CHECK(crew_end(&crew) == 2, "%s: results", names[kind]);
        unmap(kind);
        memcpy(place, first, sizeof(first));
        file = first_file;
        unmap(kind);
    }
}

static void unmap_while_waited(void)
{
    uint8_t done = 0;

    crew_start(&crew, 2, wait_at_five);
    wait_asleep(&crew, &here, 2);
    unmap(MEMFD);
    if (write(told[1], &done, 1) != 1)
        _exit(2);
}

/* Two threads of a process still wait in a memfd that is gone, while as many others are made as numbers come round. */
void futex_test_object_gone(void)
{
    uint8_t done;
    int status;
    pid_t child;

    if (!CHECK(pipe(told) == 0, "%s", strerror(errno)) || !map_twice(MEMFD))
        return;
    child = fork();
    if (child == 0) {
        unmap_while_waited();
        pause();
        _exit(1);
    }
    unmap(MEMFD);
    CHECK(child > 0 && read(told[0], &done, 1) == 1, "%s", strerror(errno));
    for (int i = 0; i < GONE_TIMES; i++) {
        long woken;

        if (!map_twice(MEMFD))
            break;
        woken = futex(word_at(0, 5), WAKE, 10, NULL, NULL, 0);
        unmap(MEMFD);
        if (!CHECK(woken == 0, "%ld woken by memfd %d", woken, i))
            break;
    }
    kill(child, SIGKILL);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status), "%x", status);
    close(told[0]);
    close(told[1]);
}

static void go_to(int index)
{
    int kernels[64];
    int count = tap_kernels(kernels);

    if (tap_on_kettle() && kettle_migrate(kernels[index % count]) != 0)
        _exit(9);
}

/* Takes a lock of FUTEX_LOCK_PI, adds to a count, and passes a turn on by another word, many times. */
static int share_words(int index)
{
    word *lock = word_at(index % 2, 20), *count = word_at(index % 2, 40), *whose = word_at((index + 1) % 2, 60);

    for (uint32_t i = 0; i < TIMES; i++) {
        uint32_t value;

        if (futex(lock, LOCK_PI, 0, NULL, NULL, 0) != 0)
            return 2;
        value = *count;
        x86_pause();
        *count = value + 1;
        if (futex(lock, UNLOCK_PI, 0, NULL, NULL, 0) != 0)
            return 3;
        while ((value = *whose) % CHILDREN != (uint32_t)index) {
            long result = futex(whose, WAIT, value, NULL, NULL, 0);

            if (result != 0 && result != -EAGAIN)
                return 4;
        }
        *whose = value + 1;
        if (futex(whose, WAKE, CHILDREN, NULL, NULL, 0) < 0)
            return 5;
    }
    return 0;
}

/* The children of a fork on each kernel are at home there. */
void futex_test_objects_forked(void)
{
    for (enum kind kind = 0; kind < KINDS; kind++) {
        pid_t children[CHILDREN];

        if (!map_twice(kind))
            return;
        for (int i = 0; i < CHILDREN; i++) {
            go_to(i);
            children[i] = fork();
            if (children[i] == 0)
                _exit(share_words(i));
            CHECK(children[i] > 0, "%s", strerror(errno));
        }
        go_to(0);
        for (int i = 0; i < CHILDREN; i++) {
            int status = -1;

            CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0, "%s: child %d: %x", names[kind], i,
                  status);
        }
        CHECK(*word_at(0, 40) == CHILDREN * TIMES && *word_at(0, 60) == CHILDREN * TIMES, "%s: %u locked, %u turns",
              names[kind], *word_at(0, 40), *word_at(0, 60));
        unmap(kind);
    }
}

static word mapped;

/* Maps shared memory, on a kernel that may lease it, and waits in it. */
static void map_and_wait(struct member *member)
{
    if (member->index != 1) {
        member->result = 1;
        return;
    }
    place[0] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *word_at(0, 4) = 1;
    mapped = 1;
    member->result = futex(word_at(0, 5), WAIT, 0, NULL, NULL, 0) == 0;
}

void futex_test_object_leased(void)
{
    long woken;

    mapped = 0;
    crew_start(&crew, 2, map_and_wait);
    wait_asleep(&crew, &mapped, 1);
    CHECK(*word_at(0, 4) == 1, "the memory is there");
    woken = futex(word_at(0, 5), WAKE, 10, NULL, NULL, 0);
    CHECK(woken == 1, "%ld woken", woken);
    CHECK(crew_end(&crew) == 2, "results");
    munmap(place[0], BYTES);
}
