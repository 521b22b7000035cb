/* Words in memory that processes share. A child is a process of one thread, on a kernel of its own. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/futex/futex.h"
#include "userland/x86.h"

#define CHILDREN 4
#define TURNS 4000
#define LINK_TO_WORD 8 /* bytes */

/* Mapped before the children are made; robust lists as the kernel reads them. */
struct shared {
    word turn;
    word ready;
    struct {
        void *next;
        word word;
    } lock;
};

static struct shared *shared;

static bool share(void)
{
    void *area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    shared = area;
    return CHECK(area != MAP_FAILED, "%s", strerror(errno));
}

static void move_to(int index)
{
    int kernels[64];
    int count = tap_kernels(kernels);

    if (tap_on_kettle() && kettle_migrate(kernels[index % count]) != 0)
        _exit(9);
}

/* Starts a child that calls RUN on a kernel of its own and exits with what it returns. False: there is no fork. */
static bool start(int index, int (*run)(int index), pid_t *child)
{
    *child = fork();
    if (*child == 0) {
        move_to(index);
        _exit(run(index));
    }
    if (*child < 0 && errno == ENOSYS)
        tap_skip("no fork");
    else
        CHECK(*child > 0, "%s", strerror(errno));
    return *child > 0;
}

static int end_of(pid_t child)
{
    int status = -1;

    CHECK(waitpid(child, &status, 0) == child, "%s", strerror(errno));
    return status;
}

/* At most two are awake at once: who has the turn, and who had it. */
static int take_turns(int index)
{
    uint32_t value;

    while ((value = shared->turn) < TURNS) {
        if (value % CHILDREN == (uint32_t)index) {
            shared->turn = value + 1;
            if (futex(&shared->turn, WAKE, CHILDREN, NULL, NULL, 0) < 0)
                return 2;
        } else {
            long result = futex(&shared->turn, WAIT, value, NULL, NULL, 0);

            if (result != 0 && result != -EAGAIN)
                return 3;
        }
    }
    return 0;
}

void futex_test_shared(void)
{
    pid_t children[CHILDREN];

    if (!share())
        return;
    for (int i = 0; i < CHILDREN; i++) {
        if (!start(i, take_turns, &children[i]))
            return;
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status = end_of(children[i]);

        CHECK(status == 0, "child %d: %x", i, status);
    }
    CHECK(shared->turn == TURNS, "%u turns", shared->turn);
    munmap(shared, sizeof(*shared));
}

/* A private wait does not hear of a wake for everybody who shares the memory's page in another process. */
static int wait_privately(int index)
{
    struct timespec soon = timespec_of(300 * MILLISECOND);

    (void)index;
    shared->ready = 1;
    return futex(&shared->turn, WAIT | PRIVATE, 0, &soon, NULL, 0) == -ETIMEDOUT ? 0 : 1;
}

void futex_test_private_apart(void)
{
    pid_t child;
    long woken;
    int status;

    if (!share() || !start(1, wait_privately, &child))
        return;
    wait_for(&shared->ready, 1);
    woken = futex(&shared->turn, WAKE | PRIVATE, 10, NULL, NULL, 0);
    status = end_of(child);
    CHECK(woken == 0 && status == 0, "%ld woken, the child: %x", woken, status);
    munmap(shared, sizeof(*shared));
}

static int hold_for_ever(int index)
{
    static struct {
        void *next;
        long offset;
        void *pending;
    } head;

    (void)index;
    head.next = &shared->lock;
    head.offset = LINK_TO_WORD;
    shared->lock.next = &head;
    shared->lock.word = (uint32_t)x86_syscall0(SYS_gettid) | WAITERS;
    if (x86_syscall3(SYS_set_robust_list, (long)&head, sizeof(head), 0) != 0)
        return 2;
    shared->ready = 1;
    for (;;)
        pause();
}

void futex_test_killed_owner(void)
{
    pid_t child, killer;
    uint32_t value;
    int status;

    if (!share() || !start(1, hold_for_ever, &child))
        return;
    wait_for(&shared->ready, 1);
    killer = fork();
    if (killer == 0) {
        UNTIL(tap_sleeps(getppid(), getppid()), "the parent to wait for the lock");
        _exit(kill(child, SIGKILL) != 0);
    }
    while (((value = shared->lock.word) & OWNER_DIED) == 0) {
        struct timespec deadline = timespec_of(20 * SECOND);

        if (!CHECK(futex(&shared->lock.word, WAIT, value, &deadline, NULL, 0) != -ETIMEDOUT, "nobody woke us"))
            break;
    }
    CHECK(shared->lock.word == (WAITERS | OWNER_DIED), "the word is %x", shared->lock.word);
    status = end_of(child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the owner: %x", status);
    CHECK(end_of(killer) == 0, "kill");
    munmap(shared, sizeof(*shared));
}
