/* See pty.h. */
#include "tests/guest/ipc/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"

int pty_master = -1, pty_slave = -1;
char pty_name[32];

static int up[2], down[2]; /* children write and read, the parent reads and writes */
static int next_place;
static pid_t parent;

void pty_go(int place)
{
    int kernels[64];
    int count = tap_kernels(kernels);

    if (tap_on_kettle())
        HOLDS(kettle_migrate(kernels[place % count]) == 0);
}

bool pty_make(bool slave)
{
    const char *name;

    parent = getpid();
    pty_slave = -1;
    pty_master = posix_openpt(O_RDWR | O_NOCTTY);
    if (!CHECK(pty_master >= 0, "%s", strerror(errno)) || !CHECK(pipe(up) == 0 && pipe(down) == 0, "pipes"))
        return false;
    name = ptsname(pty_master);
    if (!CHECK(name != NULL && unlockpt(pty_master) == 0, "%s", strerror(errno)))
        return false;
    snprintf(pty_name, sizeof(pty_name), "%s", name);
    if (slave)
        pty_slave = open(pty_name, O_RDWR | O_NOCTTY);
    return CHECK(!slave || pty_slave >= 0, "%s: %s", pty_name, strerror(errno));
}

void pty_unmake(void)
{
    if (pty_slave >= 0)
        close(pty_slave);
    if (pty_master >= 0)
        close(pty_master);
    for (int i = 0; i < 2; i++) {
        close(up[i]);
        close(down[i]);
    }
    pty_master = pty_slave = -1;
}

pid_t pty_start(int (*body)(void))
{
    int place = next_place++;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        pty_go(place);
        _exit(body());
    }
    return child;
}

void pty_lead(void)
{
    int slave;

    HOLDS(setsid() == getpid());
    slave = open(pty_name, O_RDWR);
    HOLDS(slave >= 0);
    for (int fd = 0; fd < 3; fd++)
        HOLDS(dup2(slave, fd) == fd);
    if (slave > 2)
        close(slave);
    if (pty_slave > 2)
        close(pty_slave);
    close(pty_master);
    HOLDS(tcgetpgrp(0) == getpid());
}

void pty_send_mark(char what)
{
    int fd = getpid() == parent ? down[1] : up[1];

    if (write(fd, &what, 1) != 1)
        abort();
}

char pty_receive_mark(void)
{
    int fd = getpid() == parent ? up[0] : down[0];
    char what = 0;

    return read(fd, &what, 1) == 1 ? what : 0;
}

bool pty_put(int fd, const char *text)
{
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

bool pty_reads(int fd, const char *text, int line)
{
    char got[201];
    ssize_t count = read(fd, got, 200), more;

    /* The master of a Linux gets output by parts. */
    while (fd == pty_master && count > 0 && count < (ssize_t)strlen(text) &&
           (more = read(fd, got + count, 200 - (size_t)count)) > 0)
        count += more;
    got[count < 0 ? 0 : count] = '\0';
    return CHECK(count == (ssize_t)strlen(text) && memcmp(got, text, strlen(text)) == 0,
                 "line %d: %zd bytes, \"%s\", not \"%s\" (%s)", line, count, got, text,
                 count < 0 ? strerror(errno) : "");
}

bool pty_await(int fd, const char *text)
{
    size_t matched = 0;
    char byte;

    while (text[matched] != '\0') {
        if (read(fd, &byte, 1) != 1)
            return false;
        matched = byte == text[matched] ? matched + 1 : byte == text[0] ? 1 : 0;
    }
    return true;
}
