/* test-pty: pseudo-terminals, from all places: pairs and their names, lines and keys, flow, time limits, both ends'
 * ends, and (pty_session.c) sessions and job control. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/ipc/pty.h"

#define BULK 300000 /* bytes */

static short state_of(int fd)
{
    struct pollfd state = {.fd = fd, .events = POLLIN | POLLOUT};

    return poll(&state, 1, 0) >= 0 ? state.revents : -1;
}

static void set_local(tcflag_t on, tcflag_t off)
{
    struct termios modes;

    tcgetattr(pty_slave, &modes);
    modes.c_lflag = (modes.c_lflag | on) & ~off;
    CHECK(tcsetattr(pty_slave, TCSANOW, &modes) == 0, "%s", strerror(errno));
}

/* Raw, but for what output becomes: reads of the slave wait for LEAST bytes and TENTHS. */
static void set_raw(cc_t least, cc_t tenths)
{
    struct termios modes;

    tcgetattr(pty_slave, &modes);
    cfmakeraw(&modes);
    modes.c_cc[VMIN] = least;
    modes.c_cc[VTIME] = tenths;
    CHECK(tcsetattr(pty_slave, TCSANOW, &modes) == 0, "%s", strerror(errno));
}

static void set_nonblock(int fd, bool on)
{
    int flags = fcntl(fd, F_GETFL);

    fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

/* --- pairs --- */

static bool is_listed(const char *name)
{
    DIR *directory = opendir("/dev/pts");
    const struct dirent *entry;
    bool found = false;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        found |= strcmp(entry->d_name, name) == 0;
    if (directory != NULL)
        closedir(directory);
    return found;
}

static void test_names(void)
{
    struct stat named, open_one;
    char first[32], terminal[64];
    int other;

    if (!pty_make(true))
        return;
    CHECK(strncmp(pty_name, "/dev/pts/", 9) == 0 && is_listed(pty_name + 9), "%s", pty_name);
    CHECK(stat(pty_name, &named) == 0 && fstat(pty_slave, &open_one) == 0, "%s", strerror(errno));
    CHECK(S_ISCHR(named.st_mode) && major(named.st_rdev) == 136, "%#o %#lx", named.st_mode, named.st_rdev);
    CHECK(named.st_ino == open_one.st_ino && named.st_rdev == open_one.st_rdev, "one file");
    CHECK(ttyname_r(pty_slave, terminal, sizeof(terminal)) == 0 && strcmp(terminal, pty_name) == 0, "ttyname");
    CHECK(isatty(pty_master) && isatty(pty_slave), "terminals");
    snprintf(first, sizeof(first), "%s", pty_name);
    other = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(other >= 0 && strcmp(ptsname(other), first) != 0, "two pairs have two names");
    close(other);
    pty_unmake();
    CHECK(!is_listed(first + 9) && stat(first, &named) == -1 && errno == ENOENT, "%s has gone", first);
    if (pty_make(false))
        CHECK(strcmp(pty_name, first) == 0, "%s is used again, not %s", first, pty_name);
    pty_unmake();
}

static void test_lock(void)
{
    int lock = 1, slave;
    char terminal[64];

    if (!pty_make(false))
        return;
    CHECK(ioctl(pty_master, TIOCSPTLCK, &lock) == 0, "%s", strerror(errno));
    CHECK_ERROR(open(pty_name, O_RDWR | O_NOCTTY), EIO);
    CHECK_ERROR(ioctl(pty_master, TIOCGPTPEER, O_RDWR | O_NOCTTY), EIO);
    lock = 0;
    CHECK(ioctl(pty_master, TIOCSPTLCK, &lock) == 0, "%s", strerror(errno));
    slave = ioctl(pty_master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(slave >= 0 && isatty(slave) && (fcntl(slave, F_GETFD) & FD_CLOEXEC) != 0, "%s", strerror(errno));
    CHECK(pty_put(slave, "peer") && pty_await(pty_master, "peer"), "it is the slave");
    CHECK(ttyname_r(slave, terminal, sizeof(terminal)) == 0 && strcmp(terminal, pty_name) == 0, "its name");
    close(slave);
    pty_slave = open(pty_name, O_RDWR | O_NOCTTY);
    CHECK(pty_slave >= 0, "%s", strerror(errno));
    pty_unmake();
}

static void test_ends_of_slave(void)
{
    char byte;

    if (!pty_make(false))
        return;
    CHECK(state_of(pty_master) == POLLOUT, "%#x: nobody was there yet", state_of(pty_master));
    pty_slave = open(pty_name, O_RDWR | O_NOCTTY);
    CHECK(pty_put(pty_slave, "last"), "%s", strerror(errno));
    close(pty_slave);
    CHECK((state_of(pty_master) & (POLLIN | POLLHUP)) == (POLLIN | POLLHUP), "%#x", state_of(pty_master));
    CHECK_READ(pty_master, "last");
    CHECK_ERROR(read(pty_master, &byte, 1), EIO);
    pty_slave = open(pty_name, O_RDWR | O_NOCTTY);
    CHECK(pty_slave >= 0 && (state_of(pty_master) & POLLHUP) == 0, "it may come back");
    CHECK(pty_put(pty_master, "again\n"), "%s", strerror(errno));
    CHECK_READ(pty_slave, "again\n");
    pty_unmake();
}

static void test_nobody_there(void)
{
    if (!pty_make(false))
        return;
    CHECK(pty_put(pty_master, "early\n"), "%s", strerror(errno));
    pty_slave = open(pty_name, O_RDWR | O_NOCTTY);
    CHECK_READ(pty_slave, "early\n");
    pty_unmake();
}

static int opens_exclusive(void)
{
    int slave = open(pty_name, O_RDWR | O_NOCTTY);

    HOLDS(slave >= 0); /* root may */
    HOLDS(setuid(1000) == 0);
    HOLDS(open(pty_name, O_RDWR | O_NOCTTY) == -1 && errno == EBUSY);
    HOLDS(ioctl(slave, TIOCNXCL) == 0);
    HOLDS(open(pty_name, O_RDWR | O_NOCTTY) >= 0);
    return 0;
}

static void test_exclusive(void)
{
    if (!pty_make(true))
        return;
    CHECK(chmod(pty_name, 0666) == 0 && ioctl(pty_slave, TIOCEXCL) == 0, "%s", strerror(errno));
    CHECK_CHILD(opens_exclusive);
    pty_unmake();
}

static int waits_at_master(void)
{
    char byte;

    close(pty_slave);
    pty_send_mark('w');
    HOLDS(read(pty_master, &byte, 1) == -1 && errno == EIO);
    return 0;
}

static void test_wakes_master(void)
{
    pid_t child;

    if (!pty_make(true))
        return;
    child = pty_start(waits_at_master);
    CHECK(pty_receive_mark() == 'w', "it reads");
    close(pty_slave);
    pty_slave = -1;
    CHECK_EXITS(child, 0);
    pty_unmake();
}

/* --- lines --- */

static void test_editing(void)
{
    if (!pty_make(true))
        return;
    CHECK(pty_put(pty_master, "ab\177c\001\177\n"), "%s", strerror(errno));
    CHECK_READ(pty_slave, "ac\n");
    CHECK_READ(pty_master, "ab\b \bc^A\b \b\b \b\r\n");
    CHECK(pty_put(pty_master, "one two_2\027x\n"), "%s", strerror(errno));
    CHECK_READ(pty_slave, "one x\n");
    CHECK(pty_await(pty_master, "two_2\b \b\b \b\b \b\b \b\b \bx\r\n"), "^W");
    CHECK(pty_put(pty_master, "gone\025z\026\003\n"), "%s", strerror(errno));
    CHECK_READ(pty_slave, "z\003\n");
    CHECK_READ(pty_master, "gone\b \b\b \b\b \b\b \bz^\b^C\r\n");
    CHECK(pty_put(pty_master, "ab\022c\r"), "%s", strerror(errno));
    CHECK_READ(pty_slave, "abc\n");
    CHECK_READ(pty_master, "ab^R\r\nabc\r\n");
    CHECK(pty_put(pty_master, "half\004"), "%s", strerror(errno));
    CHECK_READ(pty_slave, "half");
    CHECK(pty_put(pty_master, "\004"), "%s", strerror(errno));
    CHECK_READ(pty_slave, "");
    pty_unmake();
}

static void test_echo_modes(void)
{
    if (!pty_make(true))
        return;
    set_local(0, ECHOE);
    CHECK(pty_put(pty_master, "ab\177\n"), "%s", strerror(errno));
    CHECK_READ(pty_master, "ab^?\r\n");
    CHECK_READ(pty_slave, "a\n");
    set_local(ECHOE | ECHOPRT, 0);
    CHECK(pty_put(pty_master, "abc\177\177x\n"), "%s", strerror(errno));
    CHECK_READ(pty_master, "abc\\cb/x\r\n");
    CHECK_READ(pty_slave, "ax\n");
    set_local(0, ECHOPRT | ECHOKE);
    CHECK(pty_put(pty_master, "abc\025\n"), "%s", strerror(errno));
    CHECK_READ(pty_master, "abc^U\r\n\r\n");
    CHECK_READ(pty_slave, "\n");
    set_local(ECHONL, ECHO);
    CHECK(pty_put(pty_master, "secret\n"), "%s", strerror(errno));
    CHECK_READ(pty_master, "\r\n");
    CHECK_READ(pty_slave, "secret\n");
    pty_unmake();
}

static void test_output_modes(void)
{
    struct termios modes;

    if (!pty_make(true))
        return;
    tcgetattr(pty_slave, &modes);
    modes.c_oflag |= XTABS;
    tcsetattr(pty_slave, TCSANOW, &modes);
    CHECK(pty_put(pty_slave, "ab\tc\n"), "%s", strerror(errno));
    CHECK_READ(pty_master, "ab      c\r\n");
    modes.c_oflag = OPOST | OLCUC | ONOCR;
    tcsetattr(pty_slave, TCSANOW, &modes);
    CHECK(pty_put(pty_slave, "\rxY\r"), "%s", strerror(errno));
    CHECK_READ(pty_master, "XY\r");
    pty_unmake();
}

static void test_beginning(void)
{
    struct termios modes;
    struct winsize size = {1, 1, 1, 1};
    pid_t session;

    if (!pty_make(true))
        return;
    CHECK(tcgetattr(pty_slave, &modes) == 0, "%s", strerror(errno));
    CHECK(modes.c_iflag == (ICRNL | IXON) && modes.c_oflag == (OPOST | ONLCR), "%#x %#x", modes.c_iflag, modes.c_oflag);
    CHECK(modes.c_lflag == (ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN), "%#x", modes.c_lflag);
    CHECK(modes.c_cflag == (B38400 | CS8 | CREAD), "%#x", modes.c_cflag);
    CHECK(modes.c_cc[VMIN] == 1 && modes.c_cc[VTIME] == 0 && modes.c_cc[VLNEXT] == 22, "characters");
    CHECK(ioctl(pty_slave, TIOCGWINSZ, &size) == 0 && size.ws_row == 0 && size.ws_col == 0, "%dx%d", size.ws_row,
          size.ws_col);
    CHECK_ERROR(ioctl(pty_slave, TIOCGPTN, &size), ENOTTY);
    CHECK_ERROR(ioctl(pty_slave, TIOCGSID, &session), ENOTTY);
    CHECK_ERROR(ioctl(pty_slave, TCFLSH, 7), EINVAL);
    CHECK_ERROR(lseek(pty_slave, 0, SEEK_CUR), ESPIPE);
    CHECK_ERROR(pread(pty_slave, &size, 1, 0), ESPIPE);
    pty_unmake();
}

static void test_flush(void)
{
    int waiting = -1;

    if (!pty_make(true))
        return;
    set_nonblock(pty_slave, true);
    CHECK(pty_put(pty_master, "line\n"), "%s", strerror(errno));
    CHECK(pty_await(pty_master, "line\r\n"), "the echo");
    CHECK(ioctl(pty_slave, FIONREAD, &waiting) == 0 && waiting == 5, "%d", waiting);
    CHECK(tcflush(pty_slave, TCIFLUSH) == 0, "%s", strerror(errno));
    CHECK_ERROR(read(pty_slave, &waiting, 1), EAGAIN);
    pty_unmake();
}

static int writes_more(void)
{
    pty_send_mark('w');
    HOLDS(write(pty_master, "x", 1) == 1);
    return 0;
}

static void test_flush_master(void)
{
    static char lines[64];
    pid_t child;

    if (!tap_on_kettle() || !pty_make(true)) /* on Linux it waits on */
        return;
    memset(lines, '\n', sizeof(lines));
    set_local(0, ECHO);
    set_nonblock(pty_master, true);
    while (write(pty_master, lines, sizeof(lines)) > 0) {
    }
    set_nonblock(pty_master, false);
    child = pty_start(writes_more);
    CHECK(pty_receive_mark() == 'w', "it writes");
    UNTIL(tap_sleeps(child, child), "a write that waits for room");
    CHECK(tcflush(pty_master, TCOFLUSH) == 0, "%s", strerror(errno));
    CHECK_EXITS(child, 0);
    pty_unmake();
}

/* --- flow and time --- */

static void test_flow(void)
{
    if (!pty_make(true))
        return;
    set_nonblock(pty_master, true);
    set_nonblock(pty_slave, true);
    CHECK(pty_put(pty_master, "\023"), "^S: %s", strerror(errno));
    UNTIL((state_of(pty_slave) & POLLOUT) == 0, "^S to take effect"); /* a little later on Linux */
    CHECK_ERROR(write(pty_slave, "x", 1), EAGAIN);
    CHECK_ERROR(read(pty_master, &(char){0}, 1), EAGAIN);
    CHECK(pty_put(pty_master, "\021"), "^Q: %s", strerror(errno));
    set_nonblock(pty_slave, false);
    set_nonblock(pty_master, false);
    CHECK(pty_put(pty_slave, "go\n"), "%s", strerror(errno));
    CHECK_READ(pty_master, "go\r\n");
    CHECK(tcflow(pty_slave, TCOOFF) == 0 && state_of(pty_slave) == 0, "%#x", state_of(pty_slave));
    CHECK(tcflow(pty_slave, TCOON) == 0 && state_of(pty_slave) == POLLOUT, "%#x", state_of(pty_slave));
    pty_unmake();
}

static int types_by_parts(void)
{
    HOLDS(pty_put(pty_master, "a"));
    usleep(30000); /* less than the time between bytes that VTIME allows */
    HOLDS(pty_put(pty_master, "b"));
    usleep(30000);
    HOLDS(pty_put(pty_master, "c"));
    return 0;
}

static void test_least(void)
{
    pid_t child;

    if (!pty_make(true))
        return;
    set_raw(3, 0);
    child = pty_start(types_by_parts);
    CHECK_READ(pty_slave, "abc");
    CHECK_EXITS(child, 0);
    CHECK(pty_put(pty_master, "de"), "%s", strerror(errno));
    CHECK(state_of(pty_slave) == POLLOUT, "%#x: two are not enough", state_of(pty_slave));
    set_nonblock(pty_slave, true);
    CHECK_READ(pty_slave, "de");
    CHECK_ERROR(read(pty_slave, &child, 1), EAGAIN);
    set_nonblock(pty_slave, false);
    set_raw(0, 0);
    CHECK_READ(pty_slave, "");
    pty_unmake();
}

static long tenths_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((now.tv_sec - start->tv_sec) * 1000000000 + now.tv_nsec - start->tv_nsec) / 100000000;
}

static void test_time(void)
{
    struct timespec start;

    if (!pty_make(true))
        return;
    set_raw(0, 2);
    clock_gettime(CLOCK_MONOTONIC, &start);
    CHECK_READ(pty_slave, "");
    CHECK(tenths_since(&start) >= 1, "%ld tenths", tenths_since(&start));
    CHECK(pty_put(pty_master, "x"), "%s", strerror(errno));
    CHECK_READ(pty_slave, "x");
    set_raw(5, 2);
    CHECK(pty_put(pty_master, "yz"), "%s", strerror(errno));
    clock_gettime(CLOCK_MONOTONIC, &start);
    CHECK_READ(pty_slave, "yz"); /* the time between bytes is over */
    CHECK(tenths_since(&start) >= 1, "%ld tenths", tenths_since(&start));
    CHECK(pty_put(pty_master, "01234567"), "%s", strerror(errno));
    CHECK_READ(pty_slave, "01234567");
    pty_unmake();
}

/* --- waiting --- */

static int types_later(void)
{
    pty_receive_mark();
    HOLDS(pty_put(pty_master, "typed\n"));
    HOLDS(pty_await(pty_master, "typed\r\n"));
    pty_receive_mark();
    HOLDS(pty_await(pty_master, "answer"));
    return 0;
}

static void test_poll(void)
{
    struct pollfd state = {.events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN}, got;
    int set = epoll_create1(0);
    pid_t child;

    if (!pty_make(true))
        return;
    state.fd = pty_slave;
    child = pty_start(types_later);
    CHECK(epoll_ctl(set, EPOLL_CTL_ADD, pty_slave, &event) == 0, "%s", strerror(errno));
    CHECK(epoll_wait(set, &got, 1, 0) == 0, "nothing yet");
    pty_send_mark('t');
    CHECK(epoll_wait(set, &got, 1, 60000) == 1 && (got.events & EPOLLIN) != 0, "typed");
    CHECK(poll(&state, 1, 60000) == 1 && state.revents == POLLIN, "%#x", state.revents);
    CHECK_READ(pty_slave, "typed\n");
    pty_send_mark('a');
    CHECK(pty_put(pty_slave, "answer"), "%s", strerror(errno));
    CHECK_EXITS(child, 0);
    close(set);
    pty_unmake();
}

/* --- much --- */

static unsigned char byte_at(long i)
{
    return (unsigned char)(i * 7 + i / 251);
}

static int writes_bulk(void)
{
    unsigned char block[1000];

    close(pty_master);
    for (long done = 0; done < BULK; done += (long)sizeof(block)) {
        for (long i = 0; i < (long)sizeof(block); i++)
            block[i] = byte_at(done + i);
        HOLDS(write(pty_slave, block, sizeof(block)) == (ssize_t)sizeof(block));
    }
    return 0;
}

static int reads_bulk(void)
{
    unsigned char block[777];
    long done = 0;

    close(pty_master);
    while (done < BULK) {
        ssize_t count = read(pty_slave, block, sizeof(block));

        HOLDS(count > 0);
        for (ssize_t i = 0; i < count; i++)
            HOLDS(block[i] == byte_at(done + i));
        done += count;
    }
    return 0;
}

static void test_bulk(void)
{
    unsigned char block[1000];
    long done = 0, wrong = 0;
    pid_t child;

    if (!pty_make(true))
        return;
    set_raw(1, 0);
    child = pty_start(writes_bulk);
    while (done < BULK) {
        ssize_t count = read(pty_master, block, sizeof(block));

        if (!CHECK(count > 0, "%s", strerror(errno)))
            break;
        for (ssize_t i = 0; i < count; i++)
            wrong += block[i] != byte_at(done + i);
        done += count;
    }
    CHECK(wrong == 0, "%ld wrong", wrong);
    CHECK_EXITS(child, 0);
    child = pty_start(reads_bulk);
    for (done = 0; done < BULK; done += (long)sizeof(block)) {
        for (long i = 0; i < (long)sizeof(block); i++)
            block[i] = byte_at(done + i);
        for (size_t put = 0; put < sizeof(block);) {
            ssize_t count = write(pty_master, block + put, sizeof(block) - put);

            if (!CHECK(count > 0, "%s", strerror(errno)))
                break;
            put += (size_t)count;
        }
    }
    CHECK_EXITS(child, 0);
    pty_unmake();
}

static void test_packets(void)
{
    int on = 1;

    if (!pty_make(true))
        return;
    CHECK(ioctl(pty_master, TIOCPKT, &on) == 0, "%s", strerror(errno));
    CHECK(pty_put(pty_slave, "data"), "%s", strerror(errno));
    {
        char text[20] = "x";

        CHECK(read(pty_master, text, sizeof(text)) == 5 && memcmp(text, "\0data", 5) == 0, "a zero comes first");
        CHECK(tcflow(pty_slave, TCOOFF) == 0 && read(pty_master, text, sizeof(text)) == 1 && text[0] == TIOCPKT_STOP,
              "stopped: %d", text[0]);
        CHECK(tcflow(pty_slave, TCOON) == 0 && read(pty_master, text, sizeof(text)) == 1 && text[0] == TIOCPKT_START,
              "goes on: %d", text[0]);
    }
    pty_unmake();
}

static void test_many(void)
{
    int masters[70];
    int made = 0;

    while (made < 70 && (masters[made] = posix_openpt(O_RDWR | O_NOCTTY)) >= 0)
        made++;
    CHECK(made == 70, "%d: %s", made, strerror(errno));
    for (int i = 0; i < made; i += 2)
        close(masters[i]);
    for (int i = 0; i < made; i += 2)
        masters[i] = posix_openpt(O_RDWR | O_NOCTTY);
    for (int i = 0; i < made; i++) {
        for (int j = 0; j < i; j++) {
            char one[32];

            snprintf(one, sizeof(one), "%s", ptsname(masters[i]));
            if (strcmp(one, ptsname(masters[j])) == 0)
                CHECK(false, "%s twice", one);
        }
    }
    for (int i = 0; i < made; i++)
        close(masters[i]);
}

static const struct tap_test tests[] = {
    {"names", "a pair has a name in /dev/pts while there is a master, and names are used again", test_names},
    {"lock", "a locked slave is not opened; the master's holder opens it without its name", test_lock},
    {"exclusive", "an exclusive terminal is opened by root only", test_exclusive},
    {"ends-of-slave", "the master reads what is left, then EIO, when no slave is open, until one is",
     test_ends_of_slave},
    {"nobody-there", "what is written to a master before anybody has its slave open is read later", test_nobody_there},
    {"wakes-master", "the end of the last slave ends a wait at the master", test_wakes_master},
    {"editing", "lines are edited, shown again, ended; keys are taken literally", test_editing},
    {"echo-modes", "what is erased is shown as the modes say", test_echo_modes},
    {"output-modes", "output is changed as the modes say", test_output_modes},
    {"beginning", "a terminal begins with Linux's modes, and refuses what it cannot do", test_beginning},
    {"flush", "what was typed can be thrown away", test_flush},
    {"flush-master", "who waits to write to a full master goes on when that is flushed", test_flush_master},
    {"flow", "^S and TCOOFF stop output, ^Q and TCOON let it go on", test_flow},
    {"least", "VMIN is how many bytes a read waits for", test_least},
    {"time", "VTIME limits the wait for the first byte, or for the next one", test_time},
    {"poll", "poll and epoll see what is typed elsewhere", test_poll},
    {"bulk", "much goes both ways unchanged", test_bulk},
    {"packets", "packet mode tells data from what has happened", test_packets},
    {"many", "many pairs have different names", test_many},
    {"terminal-of-session", "a session leader gets a terminal by opening it, or by TIOCSCTTY, and gives it up",
     pty_test_terminal_of_session},
    {"foreground-rules", "the foreground is a process group of the session", pty_test_foreground_rules},
    {"keys", "^Z, ^C and ^\\ are for the foreground, wherever it is", pty_test_keys},
    {"background-read", "reading in the background stops, and goes on in the foreground", pty_test_background_read},
    {"background-ignored", "reading in the background without SIGTTIN is EIO", pty_test_background_ignored},
    {"tostop", "writing in the background stops with TOSTOP only, and not without SIGTTOU", pty_test_tostop},
    {"background-modes", "changing modes in the background stops", pty_test_background_modes},
    {"orphans-do-not-stop", "stop signals of terminals do nothing to an orphaned process group, and reading is EIO",
     pty_test_orphans_do_not_stop},
    {"orphaned-while-stopped", "a stopped process group that becomes orphaned gets SIGHUP and SIGCONT",
     pty_test_orphaned_while_stopped},
    {"other-session-stopped",
     "a stopped process in another session than its parent's hears nothing of the parent's end",
     pty_test_other_session_stopped},
    {"leader-ends", "the end of a session's leader hangs up its foreground", pty_test_leader_ends},
    {"hang-up", "the end of the master hangs up: SIGHUP for the leader, an end for reads, errors for all else",
     pty_test_hang_up},
    {"hang-up-before", "after a hang-up the end of a leader with another terminal hangs up the foreground of that",
     pty_test_hang_up_before},
    {"window", "a change of size is SIGWINCH for the foreground, once", pty_test_window},
};

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
