/* test-death: an exclusive event that a set, or the kernel that has taken it for a set, takes to its death. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define COMES INT64_C(10000000000) /* ns: a death comes sooner */

static int watch_exclusively(int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE};
    int set = epoll_create1(0);

    if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0)
        _exit(80);
    return set;
}

/* A set here watches a file of the other side, which it sends. */
int death_home_set(int argc, char **argv)
{
    struct epoll_event event;
    int set = watch_exclusively(death_receive_fd(3));

    (void)argc;
    (void)argv;
    death_say(3);
    for (;;)
        epoll_wait(set, &event, 1, -1);
}

/* Writes to a pipe, whose reading end it gives away, when it is told to. */
int death_home_writer(int argc, char **argv)
{
    int ends[2];

    (void)argc;
    (void)argv;
    if (pipe(ends) != 0)
        return 81;
    death_send_fd(3, ends[0]);
    death_hear(3);
    death_say(ends[1]);
    for (;;)
        pause();
}

static void die_at(int kernel, const char *type)
{
    char words[64];

    snprintf(words, sizeof(words), "kernel=%d inject=type:%s,delay:0,dies:1", kernel, type);
    CHECK(kettle_control(words) == 0, "%s: %s", words, tap_error(errno));
}

/* The event is on its way to a thread there: the next set has it. */
void death_test_exclusive(void)
{
    int dying = death_victim(0), talk, ends[2];
    pid_t there = death_spawn(dying, "@set", &talk), here;

    death_begin();
    MUST(pipe(ends));
    death_send_fd(talk, ends[0]);
    death_hear(talk);
    UNTIL(tap_sleeps(there, there), "a thread to wait there");
    here = FORK();
    if (here == 0) {
        struct epoll_event event;
        int set = watch_exclusively(ends[0]);

        death_board->ready = 1;
        _exit(epoll_wait(set, &event, 1, -1) == 1 ? 5 : 6);
    }
    UNTIL(death_board->ready == 1 && tap_sleeps(here, here), "a thread to wait here");
    die_at(dying, "NOTIFY");
    CHECK(write(ends[1], "x", 1) == 1, "%s", tap_error(errno));
    CHECK(death_comes(dying, COMES), "kernel %d is not notified", dying);
    CHECK_DIES(there, SIGKILL);
    CHECK_EXITS(here, 5);
    close(talk);
    close(ends[0]);
    close(ends[1]);
    death_audit();
    death_start_again(dying);
}

/* The event was taken there for a set here for which no thread waits: it is to be passed on there, and that is too
 * late. The set says that its file is lost. */
void death_test_passed(void)
{
    int dying = death_victim(0), talk, file, set;
    struct epoll_event event = {.events = 0};
    pid_t there = death_spawn(dying, "@writer", &talk);

    death_begin();
    file = death_receive_fd(talk);
    set = watch_exclusively(file);
    CHECK(epoll_wait(set, &event, 1, 1) == 0, "%x without a byte", event.events);
    die_at(dying, "FILE_POLL_END");
    death_say(talk);
    CHECK(death_comes(dying, COMES), "kernel %d is not told", dying);
    CHECK_DIES(there, SIGKILL);
    for (int again = 0; again < 2; again++) {
        CHECK(epoll_wait(set, &event, 1, -1) == 1 && (event.events & (EPOLLERR | EPOLLHUP)) != 0, "%x", event.events);
        if (again == 0)
            death_start_again(dying);
    }
    close(talk);
    close(file);
    close(set);
    death_audit();
}
