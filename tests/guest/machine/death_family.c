/* test-death: families. A process that ends on the kernel that dies, while it gives its child to a reaper elsewhere;
 * and stopped process groups that are orphaned, as the parents were there. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define COMES INT64_C(10000000000) /* ns: a death comes sooner */
#define JOBS 4
#define LATE 50000 /* us: each look for an orphaned group; twice as many for all jobs as a stop takes */

static void start_child(int kernel, const char *name)
{
    char *argv[] = {(char *)(uintptr_t)tap_self(), (char *)(uintptr_t)name, NULL};

    if (kettle_spawn(kernel, argv[0], argv, (char *[]){NULL}, (const int[]){0, 1, 2, 3, KETTLE_FDS_END}) < 0)
        _exit(95);
}

static void say_number(int number)
{
    if (write(3, &number, sizeof(number)) != sizeof(number))
        _exit(96);
}

static int hear_number(int talk)
{
    int number = 0;

    REQUIRE(read(talk, &number, sizeof(number)) == sizeof(number), "no number: %s", tap_error(errno));
    return number;
}

/* --- a reaper --- */

/* Has a child that is at home on a third kernel, and ends when it is told to. */
int death_home_giver(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    start_child(hear_number(3), "@given");
    death_hear(3);
    return 0;
}

int death_home_given(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    say_number(getpid());
    for (;;)
        pause();
}

/* The kernel dies when it is about to take the answer to TYPE: the child was TOLD, or not, whose it is. */
static void give(const char *type, bool told)
{
    int dying = death_victim(0), talk, third = death_neighbour(dying);
    pid_t giver = death_spawn(dying, "@giver", &talk), given;
    char words[64];

    death_state = type;
    MUST(write(talk, &third, sizeof(third)));
    given = hear_number(talk);
    snprintf(words, sizeof(words), "kernel=%d inject=type:%s,delay:0,dies:1", dying, type);
    CHECK(kettle_control(words) == 0, "%s: %s", words, tap_error(errno));
    death_say(talk);
    CHECK(death_comes(dying, COMES), "kernel %d does not die at %s", dying, type);
    CHECK_DIES(giver, SIGKILL);
    death_audit(); /* after the clean-up */
    if (told) {
        CHECK(waitpid(-1, NULL, WNOHANG) == 0, "%s: it is not our child: %s", type, tap_error(errno));
        MUST(kill(given, SIGTERM));
        CHECK_DIES(given, SIGTERM);
    } else {
        CHECK_ERROR(waitpid(-1, NULL, 0), ECHILD); /* has nothing to wait for */
        MUST(kill(given, SIGKILL));
    }
    close(talk);
    death_start_again(dying);
    death_state = "no message";
}

void death_test_reaper(void)
{
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
    give("PROCESS_ADOPT", false);
    give("PROCESS_NEW_PARENT", true);
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 0));
}

/* --- orphaned process groups --- */

static void await_stop(void)
{
    int status;

    if (waitpid(-1, &status, WUNTRACED) < 0 || !WIFSTOPPED(status))
        _exit(97);
}

/* In the session of the caller, outside of its group: keeps the group of its child from being orphaned; another child
 * has a session of its own. */
int death_home_shell(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    start_child(hear_number(3), "@job");
    await_stop();
    start_child(0, "@daemon");
    await_stop();
    death_say(3);
    for (;;)
        pause();
}

/* As above, of two children, each in a group of its own. */
int death_home_jobs(int argc, char **argv)
{
    int kernel = hear_number(3);

    (void)argc;
    (void)argv;
    for (int i = 0; i < 2; i++) {
        start_child(kernel, "@away");
        await_stop();
    }
    death_say(3);
    for (;;)
        pause();
}

/* Keeps the groups of its children, each in one of its own, from being orphaned. */
int death_home_shells(int argc, char **argv)
{
    int kernel = hear_number(3);

    (void)argc;
    (void)argv;
    for (int i = 0; i < JOBS; i++) {
        start_child(kernel, "@job");
        await_stop();
    }
    death_say(3);
    for (;;)
        pause();
}

/* The first of its group, which the caller keeps from being orphaned; the child is in the group. */
int death_home_leader(int argc, char **argv)
{
    int kernel = hear_number(3);

    (void)argc;
    (void)argv;
    if (setpgid(0, 0) != 0)
        return 98;
    start_child(kernel, "@member");
    await_stop();
    death_say(3);
    for (;;)
        pause();
}

/* The same, but the child has ended, whose own child is in the group: init's, which keeps no group. */
int death_home_widow(int argc, char **argv)
{
    int kernel = hear_number(3), status;

    (void)argc;
    (void)argv;
    if (setpgid(0, 0) != 0)
        return 98;
    start_child(kernel, "@middle");
    if (waitpid(-1, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return 97;
    death_say(3);
    for (;;)
        pause();
}

int death_home_middle(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    start_child(kettle_kernel(), "@member");
    await_stop();
    return 0;
}

/* Outside of the group of its child, which is a leader here. */
int death_home_boss(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    start_child(death_victim(0), "@leader");
    for (;;)
        pause();
}

static volatile sig_atomic_t hung_up;

static void hang_up(int signal)
{
    (void)signal;
    hung_up++;
}

/* Stops; when it goes on it says how often it was hung up before. */
static void stop_here(void)
{
    const struct sigaction action = {.sa_handler = hang_up};

    MUST(sigaction(SIGHUP, &action, NULL));
    say_number(getpid());
    raise(SIGSTOP);
    say_number(hung_up);
    for (;;)
        pause();
}

int death_home_job(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    MUST(setpgid(0, 0));
    stop_here();
    return 0;
}

/* Its thread is not at its home. */
int death_home_away(int argc, char **argv)
{
    death_go(0);
    return death_home_job(argc, argv);
}

int death_home_member(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    stop_here();
    return 0;
}

int death_home_daemon(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    MUST(setsid());
    stop_here();
    return 0;
}

static char state_of(int pid)
{
    char name[64], text[512] = "", *at;
    int fd;

    snprintf(name, sizeof(name), "/proc/%d/stat", pid);
    fd = (int)MUST(open(name, O_RDONLY));
    MUST(read(fd, text, sizeof(text) - 1));
    close(fd);
    at = strrchr(text, ')');
    return at != NULL ? at[2] : '?';
}

/* MOST: at how many kernels the group has lost a parent, each of which finds by itself that it is orphaned. */
static void orphan(const char *parent, bool has_daemon, int most)
{
    int dying = death_victim(0), third = death_neighbour(dying), talk, job, other = 0, hups;
    pid_t child = death_spawn(dying, parent, &talk);

    death_state = parent;
    MUST(write(talk, &third, sizeof(third)));
    job = hear_number(talk);
    if (has_daemon)
        other = hear_number(talk);
    death_hear(talk);
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(child, SIGKILL);
    hups = hear_number(talk);
    CHECK(hups >= 1 && hups <= most, "%s: its child goes on after %d times SIGHUP", parent, hups);
    MUST(kill(job, SIGKILL));
    death_audit(); /* all that the clean-up has left to be sent later may have come */
    if (has_daemon) {
        CHECK(state_of(other) == 'T', "a process with a session of its own is in state %c", state_of(other));
        MUST(kill(other, SIGKILL));
    }
    close(talk);
    death_start_again(dying);
    death_state = "no message";
}

/* The kernel where the groups are is stopped before it has looked at all of them. */
static void orphan_and_stop(void)
{
    int dying = death_victim(0), third = death_neighbour(dying), talk, jobs[JOBS];
    pid_t child;
    char words[96];

    if (third == 0)
        return; /* two kernels */
    death_state = "@shells";
    child = death_spawn(dying, "@shells", &talk);
    MUST(write(talk, &third, sizeof(third)));
    for (int i = 0; i < JOBS; i++)
        jobs[i] = hear_number(talk);
    death_hear(talk);
    snprintf(words, sizeof(words), "kernel=0 inject=seed:1,rate:100,type:PROCESS_GROUP_LOOK,delay:%d", LATE);
    CHECK(kettle_control(words) == 0, "%s: %s", words, tap_error(errno));
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(child, SIGKILL);
    CHECK(kettle_stop(third) == 0, "kernel %d is not stopped: %s", third, tap_error(errno));
    CHECK(kettle_control("inject=off") == 0, "%s", tap_error(errno));
    for (int i = 0; i < JOBS; i++) {
        int hups = hear_number(talk);

        CHECK(hups == 1, "a child goes on after %d times SIGHUP", hups);
    }
    for (int i = 0; i < JOBS; i++)
        MUST(kill(jobs[i], SIGKILL));
    death_start_again(third);
    death_audit();
    close(talk);
    death_start_again(dying);
    death_state = "no message";
}

void death_test_group(void)
{
    orphan_and_stop();
    orphan("@shell", true, 1);
    orphan("@leader", false, 2);
    orphan("@widow", false, 1);
    orphan("@boss", false, 1);
}

/* The kernel that has two groups to look at is stopped while the answer about the first one is late. */
void death_test_group_stop(void)
{
    int dying = death_victim(0), home = death_neighbour(dying), talk, jobs[2], refused = 0;
    struct pollfd said = {.events = POLLIN};
    pid_t shell;

    if (home == 0) {
        tap_skip("two kernels");
        return;
    }
    shell = death_spawn(dying, "@jobs", &talk);
    said.fd = talk;
    MUST(write(talk, &home, sizeof(home)));
    for (int i = 0; i < 2; i++)
        jobs[i] = hear_number(talk);
    death_hear(talk);
    MUST(kettle_control("kernel=0 inject=slow:500000,type:PROCESS_GROUP_LOOK"));
    death_kill(dying, KETTLE_KILL_NOW);
    CHECK_DIES(shell, SIGKILL);
    while (kettle_stop(home) != 0) {
        if (!CHECK(errno == EBUSY, "stop of kernel %d: %s", home, tap_error(errno)))
            break;
        refused++;
    }
    tap_note("kernel %d stops after %d times EBUSY", home, refused);
    MUST(kettle_control("kernel=0 inject=off"));
    for (int i = 0; i < 2; i++)
        CHECK(poll(&said, 1, 10000) == 1 && hear_number(talk) == 1, "a job stays stopped");
    for (int i = 0; i < 2; i++)
        MUST(kill(jobs[i], SIGKILL));
    death_audit();
    close(talk);
    death_start_again(home);
    death_start_again(dying);
}
