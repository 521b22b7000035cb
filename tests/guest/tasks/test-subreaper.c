/* test-subreaper: orphans go to the nearest subreaper above them, and a child may be signalled at its parent's end,
 * whichever kernels parent, child and reaper are on. A Linux program but for where it runs. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

#define ROUNDS 24
#define ORPHANS 3

static int channel[2]; /* an orphan that reads it ends when the reaper closes its writing end */

struct family {
    int middle, low; /* kernels of the orphans' parent, and of the first orphan */
    bool waits;      /* the orphans end after their parent; else at any time */
};

static void orphan(const struct family *family, int number)
{
    char byte;

    kernels_go(family->low + number);
    close(channel[1]);
    if (family->waits)
        (void)!read(channel[0], &byte, 1);
    _exit(20 + number);
}

/* The orphans' parent, which ends at once. */
static int middle(void *context)
{
    const struct family *family = context;

    kernels_go(family->middle);
    for (int i = 0; i < ORPHANS; i++) {
        pid_t child = fork();

        if (child < 0)
            return 1;
        if (child == 0)
            orphan(family, i);
    }
    return 0;
}

/* Waits for the orphans of FAMILY, which the caller has got. */
static void expect_orphans(const struct family *family)
{
    int seen = 0;

    for (int i = 0; i < ORPHANS; i++) {
        int status = -1;
        pid_t child = wait(&status);

        if (!CHECK(child > 0 && WIFEXITED(status), "middle %d low %d: %s, status %x", family->middle, family->low,
                   child < 0 ? strerror(errno) : "ended", (unsigned)status))
            return;
        seen |= 1 << (WEXITSTATUS(status) - 20);
    }
    CHECK(seen == (1 << ORPHANS) - 1, "middle %d low %d: seen %x", family->middle, family->low, (unsigned)seen);
    CHECK_ERROR(waitpid(-1, NULL, WNOHANG), ECHILD);
}

static void test_reaper(void)
{
    int on = -1;

    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && prctl(PR_GET_CHILD_SUBREAPER, &on) == 0 && on == 1, "it is %d", on);
    for (int round = 0; round < ROUNDS; round++) {
        struct family family = {round, round / 3 + round, round % 2 == 0};

        kernels_go(round / 2);
        if (!CHECK(pipe(channel) == 0, "pipe: %s", strerror(errno)))
            return;
        CHECK(tap_fork(middle, &family) == 0, "round %d", round);
        close(channel[1]);
        expect_orphans(&family);
        close(channel[0]);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    kernels_go(0);
}

/* A reaper below us that ends: its orphans go on to us, and those of ours that it had got with them. */
static int inner(void *context)
{
    struct family *family = context;
    int on = -1;

    if (prctl(PR_GET_CHILD_SUBREAPER, &on) != 0 || on != 0) /* a child is none */
        return 2;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return 3;
    kernels_go(family->middle + 1);
    return tap_fork(middle, family);
}

static void test_nested(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int round = 0; round < ROUNDS / 2; round++) {
        struct family family = {round, round + 2, round % 3 != 0};

        kernels_go(round / 2 + 1);
        if (!CHECK(pipe(channel) == 0, "pipe: %s", strerror(errno)))
            return;
        CHECK(tap_fork(inner, &family) == 0, "round %d", round);
        close(channel[1]);
        expect_orphans(&family);
        close(channel[0]);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    kernels_go(0);
}

/* A grandchild asks to be told, says that it has, and waits; its parent ends. The reaper sees what it died of. */
static int dying_parent(void *context)
{
    const int *kernel = context;
    pid_t child = fork();
    char byte;

    if (child == 0) {
        kernels_go(*kernel);
        if (prctl(PR_SET_PDEATHSIG, SIGUSR2) == 0)
            (void)!write(channel[1], "r", 1);
        for (;;)
            pause();
    }
    return child > 0 && read(channel[0], &byte, 1) == 1 ? 0 : 1;
}

static void test_death_signal(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int kernel = 0; kernel < 2 * kernels_count(); kernel++) {
        int status = -1, number = -1;

        kernels_go(kernel / 2);
        if (!CHECK(pipe(channel) == 0, "pipe: %s", strerror(errno)))
            return;
        CHECK(tap_fork(dying_parent, &kernel) == 0, "kernel %d", kernel);
        CHECK(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2, "kernel %d: status %x", kernel,
              (unsigned)status);
        CHECK(prctl(PR_GET_PDEATHSIG, &number) == 0 && number == 0, "ours is %d", number);
        close(channel[0]);
        close(channel[1]);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    CHECK_ERROR(prctl(PR_SET_PDEATHSIG, 65), EINVAL);
    kernels_go(0);
}

/* What a child begins with. */
static int inherited(void *context)
{
    int number = -1;

    (void)context;
    if (prctl(PR_GET_PDEATHSIG, &number) != 0 || number != 0)
        return 1;
    if (prctl(PR_GET_DUMPABLE) != 0)
        return 2;
    if (prctl(PR_GET_KEEPCAPS) != 1)
        return 3;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 4;
}

static int attributes(void *context)
{
    int status;

    if (prctl(PR_SET_PDEATHSIG, SIGHUP) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_KEEPCAPS, 1) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 10;
    for (int kernel = 0; kernel < kernels_count(); kernel++) {
        int number = 0;

        kernels_go(kernel);
        if (prctl(PR_GET_PDEATHSIG, &number) != 0 || number != SIGHUP || prctl(PR_GET_DUMPABLE) != 0)
            return 11;
        status = tap_fork(inherited, context);
        if (status != 0)
            return status;
    }
    return 0;
}

static void test_attributes(void)
{
    int status = tap_fork(attributes, NULL);

    CHECK(status == 0, "it is %d", status);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"reaper", "orphans become children of the nearest subreaper above them, between any kernels", test_reaper},
        {"nested", "orphans become children of the next subreaper when the first ends", test_nested},
        {"death-signal", "a process is sent its PR_SET_PDEATHSIG at its parent's end, on any kernel",
         test_death_signal},
        {"attributes", "attributes are the same on every kernel, and a child has the inherited ones", test_attributes},
    };

    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
