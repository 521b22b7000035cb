/* test-many-children [costs] [COUNT]: COUNT children (default 400) are made, end, and are waited for, each by its id,
 * from the youngest on. With "costs", for machines whose time counts instructions (--icount), the last of them must
 * cost what the first did. A Linux program. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"

#define PARTS 8
#define MOST 20000
#define BEHIND 1200

static long count = 400;
static bool costs;
static pid_t children[MOST];
static int64_t made[PARTS], waited[PARTS]; /* ns, on average, of the first COUNT / PARTS and so on */

static void make_all(void)
{
    long each = count / PARTS;

    for (int part = 0; part < PARTS; part++) {
        int64_t begin = tap_time();

        for (long i = part * each; i < (part + 1) * each; i++) {
            children[i] = FORK();
            if (children[i] == 0)
                _exit((int)(i % 100));
        }
        made[part] = (tap_time() - begin) / each;
    }
}

static void wait_for_all(void)
{
    long each = count / PARTS, i = each * PARTS - 1;
    int status;

    for (int part = 0; part < PARTS; part++) {
        int64_t begin = tap_time();

        for (long left = each; left > 0; left--, i--) {
            REQUIRE(waitpid(children[i], &status, 0) == children[i], "child %ld", i);
            REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == i % 100, "child %ld has status %x", i,
                    (unsigned)status);
        }
        waited[part] = (tap_time() - begin) / each;
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const pid_t *)a < *(const pid_t *)b ? -1 : 1;
}

static void test_all(void)
{
    make_all();
    wait_for_all();
    CHECK_ERROR(waitpid(children[0], NULL, 0), ECHILD);
    CHECK_ERROR(wait(NULL), ECHILD);
    qsort(children, (size_t)count, sizeof(children[0]), by_number);
    for (long i = 1; i < count; i++)
        REQUIRE(children[i] != children[i - 1], "two children were %d", (int)children[i]);
}

/* The kernel looks at some at a time. Those in front have ended and are not wanted; the last lives. */
static void test_behind(void)
{
    int go[2], status;
    siginfo_t info;
    pid_t last;

    for (int i = 0; i < BEHIND; i++) {
        if (FORK() == 0)
            _exit(0);
    }
    MUST(pipe(go));
    last = FORK();
    if (last == 0) {
        char byte;

        close(go[1]);
        _exit(read(go[0], &byte, 1) == 1 ? 7 : 1);
    }
    MUST(setpgid(last, last));
    CHECK(waitpid(-last, &status, WNOHANG) == 0, "the last child lives");
    CHECK_ERROR(waitid(P_PGID, 1, &info, WEXITED | WNOHANG), ECHILD);
    CHECK(write(go[1], "x", 1) == 1, "%s", strerror(errno));
    CHECK(waitpid(-last, &status, 0) == last && status == 7 << 8, "it has ended: %x", (unsigned)status);
    CHECK_ERROR(waitpid(-last, &status, 0), ECHILD);
    CHECK(waitpid(-1, &status, WUNTRACED | WNOHANG) > 0, "the others have ended");
    for (int i = 1; i < BEHIND; i++)
        MUST(wait(NULL));
    CHECK_ERROR(wait(NULL), ECHILD);
    close(go[0]);
    close(go[1]);
}

/* So are those looked at that may keep a process group from being orphaned: this process, behind whose other children
 * the group's only one is. SIGTSTP does not stop an orphaned group. */
static void test_group_behind(void)
{
    int status;
    pid_t last;

    for (int i = 0; i < BEHIND; i++) {
        if (FORK() == 0)
            _exit(0);
    }
    last = FORK();
    if (last == 0) {
        MUST(setpgid(0, 0));
        raise(SIGTSTP);
        _exit(7);
    }
    CHECK(waitpid(last, &status, WUNTRACED) == last && WIFSTOPPED(status), "it has not stopped: %x", (unsigned)status);
    CHECK(kill(last, SIGCONT) == 0, "%s", strerror(errno));
    if (WIFSTOPPED(status))
        CHECK_EXITS(last, 7);
    for (int i = 0; i < BEHIND; i++)
        MUST(wait(NULL));
    CHECK_ERROR(wait(NULL), ECHILD);
}

static void test_costs(void)
{
    if (!costs) {
        tap_skip("time that counts instructions");
        return;
    }
    tap_note("ns of a fork: the first %ld, the last %ld; of a wait: %ld, %ld", (long)made[0], (long)made[PARTS - 1],
             (long)waited[0], (long)waited[PARTS - 1]);
    CHECK(made[PARTS - 1] * 20 <= made[0] * 21, "the last forks take %ld ns, the first %ld", (long)made[PARTS - 1],
          (long)made[0]);
    /* a search among the children that are left would make them a hundred times as long */
    CHECK(waited[0] <= waited[PARTS - 1] * 4, "the first waits take %ld ns, the last %ld", (long)waited[0],
          (long)waited[PARTS - 1]);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"all", "many children have different ids and are all waited for", test_all},
        {"behind", "a wait finds a child behind many others", test_behind},
        {"group-behind", "a group is not orphaned whose parent has many other children", test_group_behind},
        {"costs", "the last of many children cost what the first did", test_costs},
    };

    costs = tap_take(&argc, &argv, "costs");
    tap_take_number(&argc, &argv, &count);
    count = count / PARTS * PARTS;
    REQUIRE(count > 0 && count <= MOST, "%ld children", count);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
