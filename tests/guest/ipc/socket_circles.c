/* Sockets that only sockets under way hold, of test-sockets: alone, in circles, and in crowds of such circles. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/ipc/socket.h"

static int told[2]; /* a pipe, whose writing end is under way with the sockets */

/* The reading end of `told` reports the end as soon as what is under way is closed. Linux looks for such sockets when
 * another one is closed. */
static bool all_closed(void)
{
    char byte;
    int other = tap_on_kettle() ? -1 : socket(AF_UNIX, SOCK_DGRAM, 0);

    if (other >= 0)
        close(other);
    return read(told[0], &byte, 1) == 0;
}

static bool tell_begin(void)
{
    return CHECK(pipe2(told, O_NONBLOCK) == 0, "%s", strerror(errno));
}

/* Sends FD and the pipe's writing end, which this process closes, on AT. */
static bool send_and_tell(int at, int fd)
{
    const int both[2] = {fd, told[1]};

    return CHECK(socket_send_files(at, both, 2) == 1 && close(told[1]) == 0, "%s", strerror(errno));
}

static void close_all(const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

/* Each end of a pair is under way to the other one. */
static void circle_of_one(int type)
{
    int ends[2];

    if (!tell_begin() || !CHECK(socketpair(AF_UNIX, type, 0, ends) == 0, "%s", strerror(errno)))
        return;
    send_and_tell(ends[0], ends[0]);
    CHECK(socket_send_files(ends[1], ends + 1, 1) == 1, "%s", strerror(errno));
    CHECK(!all_closed(), "too early");
    close_all(ends, 2);
    UNTIL(all_closed(), "a pair that is under way in itself");
    close(told[0]);
}

/* Each of COUNT pairs is under way in the next one. */
static void circle_of(int count)
{
    int ends[8];

    if (!tell_begin())
        return;
    for (int i = 0; i < count; i++)
        MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends + 2 * i));
    for (int i = 1; i < count; i++)
        CHECK(socket_send_files(ends[2 * i], ends + 2 * i - 1, 1) == 1, "%s", strerror(errno));
    send_and_tell(ends[0], ends[2 * count - 1]);
    close_all(ends, 2 * count);
    UNTIL(all_closed(), "a circle of pairs");
    close(told[0]);
}

/* A circle that can still be received from is none. */
static void circle_held(void)
{
    int ends[4], got[8], flags;

    if (!tell_begin())
        return;
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends + 2));
    send_and_tell(ends[0], ends[0]);
    CHECK(socket_send_files(ends[2], ends + 1, 1) == 1, "%s", strerror(errno)); /* the one that has the circle */
    close_all(ends, 3);
    CHECK(!all_closed(), "it can be received");
    CHECK(socket_receive_files(ends[3], got, 8, &flags) == 1, "%s", strerror(errno));
    CHECK(socket_receive_files(got[0], got + 1, 7, &flags) == 2, "%s", strerror(errno));
    CHECK(write(got[2], "x", 1) == 1, "%s", strerror(errno));
    CHECK(read(told[0], &flags, 1) == 1, "%s", strerror(errno));
    close_all(got, 3);
    close(ends[3]);
    UNTIL(all_closed(), "what was received");
    close(told[0]);
}

/* A listener is under way to the connection that it has not accepted. */
static void circle_of_listener(void)
{
    int listener = socket_serve(SOCK_STREAM, "test-sockets-circle"), client = socket(AF_UNIX, SOCK_STREAM, 0);

    if (!tell_begin() || !CHECK(socket_reach(client, "test-sockets-circle") == 0, "%s", strerror(errno)))
        return;
    send_and_tell(client, listener);
    CHECK(!all_closed(), "too early");
    close(listener);
    close(client);
    UNTIL(all_closed(), "a listener that is under way to itself");
    close(told[0]);
}

#define CROWD 150 /* so many under way that the kernel searches for circles while programs go on */
#define WALKS 8

/* Pairs of which each is under way in the one before are received one after the other, during such searches. */
static void walk_along_crowd(void)
{
    int ends[2 * CROWD], got[3], at, flags, here;

    if (!tell_begin())
        return;
    for (int i = 0; i < CROWD; i++)
        MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends + 2 * i));
    for (int i = 1; i < CROWD; i++)
        CHECK(socket_send_files(ends[2 * i - 2], ends + 2 * i, 2) == 1, "%s", strerror(errno));
    send_and_tell(ends[2 * CROWD - 2], ends[0]);
    at = ends[1];
    close(ends[0]);
    close_all(ends + 2, 2 * CROWD - 2);
    here = kettle_kernel();
    if (kettle_kernels() > 1) /* the sockets' kernel searches while this one asks */
        MUST(kettle_migrate((here + 1) % kettle_kernels()));
    for (int i = 1; i < CROWD; i++) {
        close(dup(at)); /* a search begins */
        REQUIRE(socket_receive_files(at, got, 3, &flags) == 2, "pair %d has gone", i);
        close(at);
        close(got[0]);
        at = got[1];
        CHECK(!all_closed(), "at pair %d", i);
    }
    CHECK(socket_receive_files(at, got, 3, &flags) == 2, "%s", strerror(errno));
    close_all(got, 2);
    close(at);
    UNTIL(all_closed(), "what was received");
    close(told[0]);
    if (kettle_kernels() > 1)
        MUST(kettle_migrate(here));
}

/* As many pairs, each under way in itself, are closed. */
static void circles_of_crowd(void)
{
    int ends[2 * CROWD];

    if (!tell_begin())
        return;
    for (int i = 0; i < CROWD; i++) {
        MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends + 2 * i));
        CHECK(socket_send_files(ends[2 * i], ends + 2 * i + 1, 1) == 1, "%s", strerror(errno));
    }
    send_and_tell(ends[0], ends[1]);
    close_all(ends + 2, 2 * CROWD - 2);
    CHECK(!all_closed(), "too early");
    close_all(ends, 2);
    UNTIL(all_closed(), "a crowd of pairs that are under way in themselves");
    close(told[0]);
}

void socket_test_crowds(void)
{
    for (int i = 0; i < WALKS; i++) {
        walk_along_crowd();
        circles_of_crowd();
    }
}

void socket_test_circles(void)
{
    circle_of_one(SOCK_STREAM);
    circle_of_one(SOCK_DGRAM);
    circle_of(1);
    circle_of(2);
    circle_of(4);
    circle_held();
    circle_of_listener();
}
