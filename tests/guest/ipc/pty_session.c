/* Sessions, process groups and hang-ups: the part of test-pty about who may do what with a terminal, and who hears of
 * it. Every child is at another place than the one before. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/ipc/pty.h"

static volatile sig_atomic_t taken[32]; /* signals that have come, by number */

static void take(int number)
{
    taken[number]++;
}

static void on_signal(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    sigaction(number, &action, NULL);
}

/* Sleeps until SIGNAL has come; it is blocked. */
static void await_signal(int number)
{
    sigset_t set;

    sigfillset(&set);
    sigdelset(&set, number);
    while (taken[number] == 0)
        sigsuspend(&set);
}

static void block(int number)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* The next event of a child is of this kind. */
static int status_of(pid_t child)
{
    int status = -1;

    waitpid(child, &status, WUNTRACED);
    return status;
}

static int next_job;

/* A child in a process group of its own, in the background, that runs BODY. */
static pid_t start_job(int (*body)(void))
{
    pid_t job = fork();

    if (job == 0) {
        setpgid(0, 0);
        pty_go(next_job++);
        _exit(body());
    }
    setpgid(job, job);
    return job;
}

/* --- whose terminal it is --- */

static int owner(void)
{
    pid_t session = 0;
    int fd;

    HOLDS(setsid() == getpid());
    HOLDS(open("/dev/tty", O_RDWR) == -1 && errno == ENXIO);
    fd = open(pty_name, O_WRONLY);
    HOLDS(fd >= 0 && tcgetpgrp(fd) == -1 && errno == ENOTTY); /* who only writes does not get it */
    close(fd);
    fd = open(pty_name, O_RDWR | O_NOCTTY);
    HOLDS(fd >= 0);
    HOLDS(tcgetpgrp(fd) == -1 && errno == ENOTTY);
    HOLDS(ioctl(fd, TIOCGSID, &session) == -1 && errno == ENOTTY);
    HOLDS(open("/dev/tty", O_RDWR) == -1 && errno == ENXIO);
    HOLDS(ioctl(fd, TIOCNOTTY) == -1 && errno == ENOTTY);
    HOLDS(ioctl(fd, TIOCSCTTY, 0) == 0 && ioctl(fd, TIOCSCTTY, 0) == 0);
    HOLDS(tcgetpgrp(fd) == getpid());
    HOLDS(ioctl(fd, TIOCGSID, &session) == 0 && session == getpid());
    close(fd);
    fd = open("/dev/tty", O_RDWR);
    HOLDS(fd >= 0 && isatty(fd) && tcgetpgrp(fd) == getpid());
    HOLDS(write(fd, "own\n", 4) == 4);
    signal(SIGHUP, SIG_IGN);
    HOLDS(ioctl(fd, TIOCNOTTY) == 0);
    HOLDS(tcgetpgrp(fd) == -1 && errno == ENOTTY);
    HOLDS(open("/dev/tty", O_RDWR) == -1 && errno == ENXIO);
    close(fd);
    fd = open(pty_name, O_RDWR); /* by opening it, again */
    HOLDS(fd >= 0 && tcgetpgrp(fd) == getpid());
    return 0;
}

/* Another leader, while the first has it. */
static int late_owner(void)
{
    int fd;

    HOLDS(setsid() == getpid());
    fd = open(pty_name, O_RDWR);
    HOLDS(fd >= 0 && tcgetpgrp(fd) == -1 && errno == ENOTTY);
    HOLDS(ioctl(fd, TIOCSCTTY, 0) == -1 && errno == EPERM);
    HOLDS(tcsetpgrp(fd, getpid()) == -1 && errno == ENOTTY);
    HOLDS(ioctl(fd, TIOCSCTTY, 1) == 0 && tcgetpgrp(fd) == getpid()); /* root may steal it */
    return 0;
}

static int holder(void)
{
    pty_lead();
    pty_send_mark('h');
    pty_receive_mark();
    return 0;
}

void pty_test_terminal_of_session(void)
{
    pid_t child;

    if (!pty_make(true))
        return;
    CHECK_CHILD(owner);
    child = pty_start(holder);
    CHECK(pty_receive_mark() == 'h', "it leads");
    CHECK_CHILD(late_owner);
    CHECK(tcgetpgrp(pty_slave) == -1 && errno == ENOTTY, "not ours");
    CHECK(tcgetpgrp(pty_master) >= 0, "the master may ask: %s", strerror(errno));
    pty_send_mark('x');
    CHECK_EXITS(child, 0);
    pty_unmake();
}

static int idle(void)
{
    while (pause() < 0) {
    }
    return 0;
}

static int sets_foreground(void)
{
    pid_t job, session;

    pty_lead();
    job = start_job(idle);
    HOLDS(tcsetpgrp(0, job) == 0 && tcgetpgrp(0) == job);
    signal(SIGTTOU, SIG_IGN); /* in the background now */
    HOLDS(tcsetpgrp(0, getpid()) == 0);
    signal(SIGTTOU, SIG_DFL);
    HOLDS(tcsetpgrp(0, -5) == -1 && errno == EINVAL);
    HOLDS(tcsetpgrp(0, 0x3fffffff) == -1 && errno == ESRCH);
    HOLDS(tcsetpgrp(0, getppid()) == -1 && (errno == EPERM || errno == ESRCH));
    HOLDS(ioctl(0, TIOCGSID, &session) == 0 && session == getpid());
    kill(job, SIGKILL);
    HOLDS(waitpid(job, NULL, 0) == job);
    return 0;
}

void pty_test_foreground_rules(void)
{
    if (!pty_make(true))
        return;
    CHECK_CHILD(sets_foreground);
    pty_go(3); /* a home that has not the terminal */
    CHECK_CHILD(sets_foreground);
    pty_go(0);
    pty_unmake();
}

/* --- keys --- */

static int takes_key(void)
{
    pid_t job;

    pty_lead();
    job = start_job(idle);
    HOLDS(tcsetpgrp(0, job) == 0);
    pty_send_mark('1');
    HOLDS(WIFSTOPPED(status_of(job)));
    kill(-job, SIGCONT);
    pty_send_mark('2');
    return WTERMSIG(status_of(job));
}

void pty_test_keys(void)
{
    static const struct {
        const char *key;
        int signal;
    } keys[] = {{"\003", SIGINT}, {"\034", SIGQUIT}};

    for (size_t i = 0; i < 2; i++) {
        pid_t child;

        if (!pty_make(true))
            return;
        child = pty_start(takes_key);
        CHECK(pty_receive_mark() == '1' && pty_put(pty_master, "\032"), "^Z");
        CHECK(pty_receive_mark() == '2' && pty_put(pty_master, keys[i].key), "a key");
        CHECK_EXITS(child, keys[i].signal);
        pty_unmake();
    }
}

/* --- jobs in the background --- */

static int reads_line(void)
{
    char text[10] = "";

    return read(0, text, sizeof(text)) == 3 && memcmp(text, "ab\n", 3) == 0 ? 7 : 8;
}

static int background_read(void)
{
    pid_t job;
    int status;

    pty_lead();
    job = start_job(reads_line);
    status = status_of(job);
    HOLDS(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTIN);
    HOLDS(tcsetpgrp(0, job) == 0 && kill(-job, SIGCONT) == 0);
    pty_send_mark('r');
    status = status_of(job);
    HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    return 0;
}

void pty_test_background_read(void)
{
    pid_t child;

    if (!pty_make(true))
        return;
    child = pty_start(background_read);
    CHECK(pty_receive_mark() == 'r' && pty_put(pty_master, "ab\n"), "it stopped, and goes on");
    CHECK_EXITS(child, 0);
    pty_unmake();
}

static int reads_ignoring(void)
{
    char byte;

    on_signal(SIGTTIN, SIG_IGN);
    HOLDS(read(0, &byte, 1) == -1 && errno == EIO);
    on_signal(SIGTTIN, SIG_DFL);
    block(SIGTTIN);
    HOLDS(read(0, &byte, 1) == -1 && errno == EIO);
    return 0;
}

static int background_ignored(void)
{
    int status;

    pty_lead();
    status = status_of(start_job(reads_ignoring));
    HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}

void pty_test_background_ignored(void)
{
    if (!pty_make(true))
        return;
    CHECK_CHILD(background_ignored);
    pty_unmake();
}

static int writes_word(void)
{
    return write(1, "word\n", 5) == 5 ? 0 : 9;
}

static int writes_ignoring(void)
{
    on_signal(SIGTTOU, SIG_IGN);
    return writes_word();
}

static int tostop(void)
{
    struct termios modes;
    pid_t job;
    int status;

    pty_lead();
    status = status_of(start_job(writes_word)); /* without TOSTOP it may */
    HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    HOLDS(tcgetattr(0, &modes) == 0);
    modes.c_lflag |= TOSTOP;
    HOLDS(tcsetattr(0, TCSANOW, &modes) == 0);
    status = status_of(start_job(writes_ignoring));
    HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    job = start_job(writes_word);
    status = status_of(job);
    HOLDS(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTOU);
    HOLDS(tcsetpgrp(0, job) == 0 && kill(-job, SIGCONT) == 0);
    status = status_of(job);
    HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}

void pty_test_tostop(void)
{
    pid_t child;

    if (!pty_make(true))
        return;
    child = pty_start(tostop);
    for (int i = 0; i < 3; i++)
        CHECK(pty_await(pty_master, "word\r\n"), "word %d", i);
    CHECK_EXITS(child, 0);
    pty_unmake();
}

static int sets_modes(void)
{
    struct termios modes;
    char byte;

    HOLDS(read(open(pty_name, O_WRONLY | O_NOCTTY), &byte, 1) == -1 && errno == EBADF); /* that is not looked at then */
    return tcgetattr(0, &modes) == 0 && tcsetattr(0, TCSANOW, &modes) == 0 ? 0 : 9;
}

static int background_modes(void)
{
    pid_t job;
    int status;

    pty_lead();
    job = start_job(sets_modes);
    status = status_of(job);
    HOLDS(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTOU);
    HOLDS(tcsetpgrp(0, job) == 0 && kill(-job, SIGCONT) == 0);
    status = status_of(job);
    HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}

void pty_test_background_modes(void)
{
    if (!pty_make(true))
        return;
    CHECK_CHILD(background_modes);
    pty_unmake();
}

/* --- orphans --- */

static int orphan(void)
{
    char byte;

    pty_lead(); /* its group is orphaned from now on: its parent is in another session */
    HOLDS(raise(SIGTSTP) == 0 && raise(SIGTTIN) == 0 && raise(SIGTTOU) == 0);
    HOLDS(tcsetpgrp(0, start_job(idle)) == 0);
    HOLDS(read(0, &byte, 1) == -1 && errno == EIO); /* in the background, and nobody would continue it */
    kill(tcgetpgrp(0), SIGKILL);
    return 0;
}

void pty_test_orphans_do_not_stop(void)
{
    pid_t child;
    int status;

    if (!pty_make(true))
        return;
    child = pty_start(orphan);
    status = status_of(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", status);
    pty_unmake();
}

/* Stops, and when it goes on says which signals have come. */
static int stops_itself(void)
{
    on_signal(SIGHUP, take);
    on_signal(SIGCONT, take);
    pty_send_mark('s');
    raise(SIGSTOP);
    UNTIL(taken[SIGHUP] != 0 && taken[SIGCONT] != 0, "SIGHUP and SIGCONT");
    pty_send_mark('c');
    return 0;
}

/* Leads a session; its child, in another group of it, has a stopped child in a third group, and ends. */
static int leaves_stopped(void)
{
    pid_t job = start_job(stops_itself);

    HOLDS(WIFSTOPPED(status_of(job)));
    return 0;
}

static int orphaned_while_stopped(void)
{
    pid_t job;

    pty_lead();
    signal(SIGHUP, SIG_IGN);
    job = start_job(leaves_stopped);
    HOLDS(waitpid(job, NULL, 0) == job);
    pty_receive_mark(); /* the end of the session would be a hang-up, too */
    return 0;
}

void pty_test_orphaned_while_stopped(void)
{
    pid_t child;

    if (!pty_make(true))
        return;
    child = pty_start(orphaned_while_stopped);
    CHECK(pty_receive_mark() == 's', "it stops");
    CHECK(pty_receive_mark() == 'c', "it was sent SIGHUP and SIGCONT");
    pty_send_mark('x');
    CHECK_EXITS(child, 0);
    pty_unmake();
}

/* Leads a session; once it goes on it says whether it was hung up. */
static int stops_in_own_session(void)
{
    HOLDS(setsid() == getpid());
    on_signal(SIGHUP, take);
    on_signal(SIGCONT, take);
    raise(SIGSTOP);
    UNTIL(taken[SIGCONT] != 0, "SIGCONT");
    pty_send_mark(taken[SIGHUP] == 0 ? 'c' : 'h');
    return 0;
}

/* Ends while its child, in another session, is stopped; another child has that go on later. */
static int leaves_other_session(void)
{
    pid_t child = fork();

    if (child == 0)
        _exit(stops_in_own_session());
    HOLDS(WIFSTOPPED(status_of(child)));
    if (fork() == 0) {
        pty_receive_mark();
        _exit(kill(child, SIGCONT));
    }
    return 0;
}

void pty_test_other_session_stopped(void)
{
    if (!pty_make(false))
        return;
    CHECK_CHILD(leaves_other_session);
    usleep(50000); /* time for signals that ought not to come */
    pty_send_mark('x');
    CHECK(pty_receive_mark() == 'c', "the end of a parent in another session is nothing to it");
    pty_unmake();
}

/* --- ends --- */

static int hears_hang_up(void)
{
    block(SIGHUP);
    on_signal(SIGHUP, take);
    pty_send_mark('i');
    await_signal(SIGHUP);
    pty_send_mark('h');
    return 0;
}

static int leader_ends(void)
{
    pid_t job;

    pty_lead();
    job = start_job(hears_hang_up);
    HOLDS(tcsetpgrp(0, job) == 0);
    HOLDS(pty_receive_mark() == 'e');
    return 0;
}

void pty_test_leader_ends(void)
{
    pid_t child;

    if (!pty_make(true))
        return;
    child = pty_start(leader_ends);
    CHECK(pty_receive_mark() == 'i', "the job waits");
    pty_send_mark('e');
    CHECK_EXITS(child, 0);
    CHECK(pty_receive_mark() == 'h', "the foreground was hung up");
    CHECK(tcgetpgrp(pty_master) == 0, "the terminal is nobody's");
    pty_unmake();
}

static int hung_up(void)
{
    struct pollfd state = {.fd = 0, .events = POLLIN | POLLOUT};
    struct termios modes;
    pid_t job;
    char byte;

    pty_lead();
    block(SIGHUP);
    on_signal(SIGHUP, take);
    on_signal(SIGCONT, take);
    job = start_job(hears_hang_up);
    HOLDS(tcsetpgrp(0, job) == 0);
    HOLDS(pty_receive_mark() == 'e'); /* hears_hang_up has said 'i' */
    pty_send_mark('c');
    await_signal(SIGHUP);
    UNTIL(taken[SIGCONT] != 0, "SIGCONT, which is sent behind SIGHUP");
    HOLDS(read(0, &byte, 1) == 0);
    HOLDS(write(1, "x", 1) == -1 && errno == EIO);
    HOLDS(tcgetattr(0, &modes) == -1 && errno == EIO);
    HOLDS(poll(&state, 1, 0) == 1 && (state.revents & (POLLIN | POLLHUP | POLLERR)) == (POLLIN | POLLHUP | POLLERR));
    HOLDS(open(pty_name, O_RDWR) == -1 && errno == ENOENT);
    HOLDS(open("/dev/tty", O_RDWR) == -1 && errno == ENXIO);
    return 0; /* and with its end the job hears of it */
}

void pty_test_hang_up(void)
{
    pid_t child;

    if (!pty_make(true))
        return;
    close(pty_slave);
    pty_slave = -1;
    child = pty_start(hung_up);
    CHECK(pty_receive_mark() == 'i', "the job waits");
    pty_send_mark('e');
    CHECK(pty_receive_mark() == 'c', "the leader waits");
    close(pty_master);
    pty_master = -1;
    CHECK_EXITS(child, 0);
    CHECK(pty_receive_mark() == 'h', "the job was told at the leader's end");
    pty_unmake();
}

/* After a hang-up the leader takes another terminal, in which another job is in the foreground. */
static int hung_up_before(void)
{
    struct pollfd state = {.fd = 0};
    int master, slave;
    pid_t first, job;

    pty_lead();
    signal(SIGHUP, SIG_IGN);
    first = start_job(idle);
    HOLDS(tcsetpgrp(0, first) == 0);
    pty_send_mark('l');
    HOLDS(poll(&state, 1, -1) == 1 && (state.revents & POLLHUP) != 0);
    kill(first, SIGKILL);
    HOLDS(waitpid(first, NULL, 0) == first);
    master = posix_openpt(O_RDWR | O_NOCTTY);
    HOLDS(master >= 0 && unlockpt(master) == 0);
    slave = open(ptsname(master), O_RDWR);
    HOLDS(slave >= 0);
    job = start_job(hears_hang_up);
    HOLDS(tcsetpgrp(slave, job) == 0);
    HOLDS(pty_receive_mark() == 'e');
    return 0;
}

void pty_test_hang_up_before(void)
{
    pid_t child;

    if (!pty_make(true))
        return;
    close(pty_slave);
    pty_slave = -1;
    child = pty_start(hung_up_before);
    CHECK(pty_receive_mark() == 'l', "it leads");
    close(pty_master);
    pty_master = -1;
    CHECK(pty_receive_mark() == 'i', "the job waits");
    pty_send_mark('e');
    CHECK_EXITS(child, 0);
    CHECK(pty_receive_mark() == 'h', "the foreground was hung up");
    pty_unmake();
}

static int window(void)
{
    struct winsize size;

    pty_lead();
    block(SIGWINCH);
    on_signal(SIGWINCH, take);
    pty_send_mark('w');
    await_signal(SIGWINCH);
    HOLDS(ioctl(0, TIOCGWINSZ, &size) == 0 && size.ws_row == 33 && size.ws_col == 99);
    HOLDS(ioctl(0, TIOCSWINSZ, &size) == 0); /* the same: no signal */
    size.ws_row = 12;
    sigprocmask(SIG_SETMASK, &(sigset_t){0}, NULL);
    HOLDS(taken[SIGWINCH] == 1);
    HOLDS(ioctl(0, TIOCSWINSZ, &size) == 0);
    UNTIL(taken[SIGWINCH] != 1, "the second SIGWINCH");
    pty_send_mark('v');
    return 0;
}

void pty_test_window(void)
{
    struct winsize size = {33, 99, 0, 0};
    pid_t child;

    if (!pty_make(true))
        return;
    child = pty_start(window);
    CHECK(pty_receive_mark() == 'w', "it waits");
    CHECK(ioctl(pty_master, TIOCSWINSZ, &size) == 0, "%s", strerror(errno));
    CHECK(pty_receive_mark() == 'v', "it has seen both sizes");
    CHECK(ioctl(pty_master, TIOCGWINSZ, &size) == 0 && size.ws_row == 12, "%d rows", size.ws_row);
    CHECK_EXITS(child, 0);
    pty_unmake();
}
