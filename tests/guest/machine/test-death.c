/* test-death: kernels die, at rest and while programs use them in all ways; the others notice it, end what had a part
 * there, keep everything else, and start the dead ones again. Afterwards every kernel has what it had before, and the
 * audit finds nothing. Takes a number of rounds of deaths under load, and "at" types of messages. The tests are in
 * death_*.c.
 *
 * A process that has not moved is to be on its kernel alone, and what has to survive on kernel 0: where new processes
 * are placed elsewhere, this one sets place=local, and runs again on kernel 0. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

static void test_refused(void)
{
    pid_t child;

    CHECK_ERROR(kettle_kill(kettle_kernels(), KETTLE_KILL_NOW), EINVAL);
    CHECK_ERROR(kettle_kill(-1, KETTLE_KILL_NOW), EINVAL);
    CHECK_ERROR(kettle_kill(death_victim(0), 4), EINVAL);
    child = FORK();
    if (child == 0) {
        MUST(setuid(1000));
        CHECK_ERROR(kettle_kill(death_victim(0), KETTLE_KILL_NOW), EPERM);
        CHECK_ERROR(kettle_kill(0, KETTLE_KILL_NOW), EPERM);
        _exit(3);
    }
    CHECK_EXITS(child, 3);
}

static void test_rest(void)
{
    for (int how = 0; how <= KETTLE_KILL_HALT; how++)
        death_kill_and_start(death_victim(how), how);
    death_kill(death_victim(0), KETTLE_KILL_NOW);
    CHECK(kettle_kill(death_victim(0), KETTLE_KILL_NOW) == 0, "a kernel that does not run: %s", tap_error(errno));
    CHECK_ERROR(kettle_migrate(death_victim(0)), EAGAIN);
    death_start_again(death_victim(0));
}

/* --- where processes are --- */

/* The option place= of kernel 0. */
static void find_place(char place[32])
{
    char text[4096] = "", *word;
    int fd = (int)MUST(open("/proc/kettle/balance", O_RDONLY));

    read(fd, text, sizeof(text) - 1);
    close(fd);
    word = strstr(text, " place ");
    REQUIRE(word != NULL && sscanf(word, " place %31s", place) == 1, "/proc/kettle/balance: %s", text);
}

/* Runs this program again, at home on kernel 0, while no process is placed on another kernel than its parent's. Returns
 * its exit status. */
static int run_on_first(char **argv, const char *place)
{
    char words[64];
    int status = -1;
    pid_t child;

    snprintf(words, sizeof(words), "place=%s", place);
    if (kettle_control("place=local") != 0 || (child = kettle_spawn(0, tap_self(), argv, environ, NULL)) < 0) {
        perror("place=local");
        return 2;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (kettle_control(words) != 0)
        perror(words);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int main(int argc, char **argv)
{
    char place[32];
    static const struct tap_test tests[] = {
        {"refused", "only root ends a kernel", test_refused},
        {"rest", "a kernel that dies in any way is noticed, and starts again", test_rest},
        {"threads", "a process with a thread or memory there ends by SIGKILL, on all kernels", death_test_threads},
        {"homes", "a process at home there ends for its parent, and its pipes hang up", death_test_homes},
        {"orphans", "a child of a process at home there goes on, with init as its parent", death_test_orphans},
        {"reaper",
         "a child that a process there was giving to a reaper elsewhere is that one's or init's, and not both",
         death_test_reaper},
        {"group", "a stopped process group that is orphaned, as a parent was there, goes on after SIGHUP",
         death_test_group},
        {"group-stop", "so does every one for which a kernel has to see to that and is stopped before it has",
         death_test_group_stop},
        {"exec", "a process with threads there that execs meanwhile ends by SIGKILL, or its new program runs",
         death_test_exec},
        {"vfork", "a death is cleaned up while a parent that has been killed waits for its child in vfork",
         death_test_vfork},
        {"vfork-storm", "so it is while more such parents are killed", death_test_vfork_storm},
        {"vfork-home", "so it is where the home of such a parent dies", death_test_vfork_home},
        {"vfork-stopped", "so it is while a stop waits for a thread in vfork", death_test_vfork_stopped},
        {"vfork-reaper", "so it is where such a parent has got a child there from another process there",
         death_test_vfork_reaper},
        {"waits", "threads elsewhere of a process at home there end, in whatever call they wait", death_test_waits},
        {"files", "files at home there fail with EIO, also after the kernel has started again", death_test_files},
        {"backlog", "connections that wait to be accepted elsewhere keep what they have", death_test_backlog},
        {"queued", "files in a socket elsewhere that only a process there had are closed when programs go on",
         death_test_queued},
        {"locks", "locks, semaphores and queues of a process at home there are given back", death_test_locks},
        {"served", "messages passed on to receivers there are received by others, in their order", death_test_served},
        {"futex", "a waiter there does not take another one's wake", death_test_futex},
        {"robust", "robust locks that a thread there holds are released, and their waiters told", death_test_robust},
        {"robust-many", "so are those of more threads than have notes at their home", death_test_robust_many},
        {"robust-home", "so are those of a process at home there, when somebody waits for them",
         death_test_robust_home},
        {"pi", "locks of FUTEX_LOCK_PI that a process there owns are taken over", death_test_pi},
        {"moved", "so are those of a thread that was born in a role which a kernel there has taken over",
         death_test_moved},
        {"read", "a reader there takes nothing that is written afterwards", death_test_read},
        {"borrowed", "a process that maps frames of it gets SIGBUS when it touches such a page, and not before",
         death_test_borrowed},
        {"copies", "replicated pages are not lost with it, and copies end with their processes", death_test_copies},
        {"file", "pages of a file that are in its memory are lost, and the others are not", death_test_file},
        {"lent", "memory lent for a read or write is not touched any more after the death of either kernel",
         death_test_lent},
        {"references", "what it has got for a third kernel, and has not passed on, is given back",
         death_test_references},
        {"exclusive", "an exclusive event that is on its way to a set there wakes a thread of another set",
         death_test_exclusive},
        {"passed", "a set whose event was taken there says that its file is lost", death_test_passed},
        {"maker", "futexes of shared memory that was made there go on, with and without deadlines", death_test_maker},
        {"mover", "memory that it moves for others is unlocked", death_test_mover},
        {"workers", "a kernel dies while ends of processes wait for it, and their home has no more workers",
         death_test_workers},
        {"load", "kernels die under load, and what is elsewhere goes on with the right results", death_test_load},
        {"second", "a second kernel dies while the others clean up, and both start again", death_test_second},
        {"stops", "a kernel dies while another one stops, until what that has is handed over, and while it starts",
         death_test_stops},
        {"types", "a kernel dies at each message that it takes under load, with the same", death_test_types},
        {"times", "a death is over in a bounded time", death_test_times},
        {"account", "the others have what they had before", death_test_account},
    };
    static const struct tap_child children[] = {
        {"rest", death_home_rest},     {"parent", death_home_parent}, {"orphan", death_home_orphan},
        {"waits", death_home_waits},   {"pipes", death_home_pipes},   {"locks", death_home_locks},
        {"pi", death_home_pi},         {"copies", death_home_copies}, {"set", death_home_set},
        {"writer", death_home_writer}, {"pipe", death_home_pipe},     {"over", death_home_over},
        {"vfork", death_home_vfork},   {"robust", death_home_robust}, {"giver", death_home_giver},
        {"given", death_home_given},   {"shell", death_home_shell},   {"shells", death_home_shells},
        {"leader", death_home_leader}, {"widow", death_home_widow},   {"middle", death_home_middle},
        {"sitter", death_home_sitter}, {"calls", death_home_calls},   {"job", death_home_job},
        {"member", death_home_member}, {"daemon", death_home_daemon}, {"execed", death_home_execed},
        {"boss", death_home_boss},     {"jobs", death_home_jobs},     {"away", death_home_away},
        {"keeper", death_home_keeper},
    };
    const struct tap_program program = {.tests = tests,
                                        .count = TAP_COUNT(tests),
                                        .apart = true,
                                        .extra = INT64_C(900000000000), /* types: a death at each */
                                        .children = children,
                                        .child_count = TAP_COUNT(children),
                                        .parameters = "[ROUNDS] [at TYPES]"};

    find_place(place);
    if (strcmp(place, "local") != 0)
        return run_on_first(argv, place);
    tap_take_number(&argc, &argv, &death_rounds);
    death_types = tap_take_value(&argc, &argv, "at");
    death_count = tap_kernels(death_kernels);
    if (death_count > 1 && kettle_migrate(0) != 0)
        return 2;
    death_board = tap_share(sizeof(*death_board));
    return tap_main(argc, argv, &program);
}
