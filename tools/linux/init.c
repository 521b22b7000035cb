/* The first process of the Linux baseline machine (tools/kettle run --os linux).
 *
 * Mounts what programs expect, makes COM1 the raw terminal of the program that .kettle/run names, runs it, and tells
 * the host with the events of Kettle's own log channel, on the same ports: lines to the debug console at 0xe9,
 * power-off by isa-debug-exit at 0xf4.
 *
 * COM2 is Linux's console, and brings words from the host. A serial line has neither flow control here nor an end, and
 * Linux drops what its reader does not fetch in time, so the host sends input in pieces smaller than a terminal's
 * buffer: "NUMBER\n" asks for the event "@input NUMBER" once that many bytes in all were read, "end\n" says that no
 * more will come.
 *
 * One thread, statically linked, started once as process 1. Anything that fails here is reported as a panic. */
#include <errno.h>
#include <fcntl.h>
#include <linux/serial.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define LOG_PORT 0xe9
#define EXIT_PORT 0xf4
#define EXIT_VALUE 0x2a
#define RUN_FILE "/.kettle/run"
#define STATUS_CANNOT_EXECUTE 126
#define TICK_MS 1
#define QUIET_TICKS 2 /* a terminal found empty so often has no byte on its way to its buffer */

struct job {
    char *path;
    char **argv;
    char **envp;
};

/* Writes one line to the log channel. */
static void __attribute__((format(printf, 1, 2))) log_line(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    for (const char *at = line; *at; at++) {
        outb((unsigned char)*at, LOG_PORT);
    }
}

static void __attribute__((noreturn)) power_off(void)
{
    for (;;) {
        outb(EXIT_VALUE, EXIT_PORT);
    }
}

static void __attribute__((noreturn)) fail(const char *what)
{
    int error = errno;
    log_line("@panic");
    log_line("linux init: %s: %s", what, strerror(error));
    log_line("@panic-end");
    power_off();
}

static void mount_at(const char *type, const char *folder)
{
    if (mkdir(folder, 0755) != 0 && errno != EEXIST) {
        fail(folder);
    }
    if (mount(type, folder, type, 0, NULL) != 0 && errno != EBUSY) {
        fail(folder);
    }
}

/* Makes the terminal a line that passes every byte as it is. */
static void make_raw(int terminal, int read_minimum)
{
    struct termios mode;
    if (tcgetattr(terminal, &mode) != 0) {
        fail("tcgetattr");
    }
    cfmakeraw(&mode);
    cfsetspeed(&mode, B115200);
    mode.c_cflag |= CLOCAL | CREAD;
    mode.c_cc[VMIN] = (cc_t)read_minimum;
    mode.c_cc[VTIME] = 0;
    if (tcsetattr(terminal, TCSANOW, &mode) != 0) {
        fail("tcsetattr");
    }
}

/* Reads "COUNT\0STRING\0..." at *AT into a null-terminated vector of strings. */
static char **take_strings(char **at)
{
    long count = strtol(*at, NULL, 10);
    char **strings = calloc((size_t)count + 1, sizeof(*strings));
    if (!strings) {
        fail("calloc");
    }
    *at += strlen(*at) + 1;
    for (long i = 0; i < count; i++) {
        strings[i] = *at;
        *at += strlen(*at) + 1;
    }
    return strings;
}

static struct job read_job(void)
{
    struct stat status;
    struct job job;
    int file = open(RUN_FILE, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0) {
        fail(RUN_FILE);
    }
    char *text = calloc((size_t)status.st_size + 1, 1);
    if (!text || read(file, text, (size_t)status.st_size) != status.st_size) {
        fail(RUN_FILE);
    }
    close(file);
    job.path = text;
    text += strlen(text) + 1;
    job.argv = take_strings(&text);
    job.envp = take_strings(&text);
    return job;
}

/* Lets this process use the log and exit ports, or not; 0 or -1. */
static int use_ports(int allowed)
{
    return ioperm(LOG_PORT, 1, allowed) != 0 || ioperm(EXIT_PORT, 1, allowed) != 0 ? -1 : 0;
}

/* Starts the program as the foreground job of the terminal. This process stays the leader of the session: a leader's
 * end would hang the terminal up, and throw away what it has not yet sent. */
static pid_t start(const struct job *job, int terminal, const sigset_t *mask)
{
    pid_t child = fork();
    if (child < 0) {
        fail("fork");
    }
    setpgid(child, child); /* on both sides: neither may go on before it is done */
    if (child == 0) {
        tcsetpgrp(terminal, getpid()); /* SIGTTOU is ignored still */
        dup2(terminal, 0);
        dup2(terminal, 1);
        dup2(terminal, 2);
        signal(SIGTTOU, SIG_DFL);
        sigprocmask(SIG_SETMASK, mask, NULL);
        use_ports(0); /* they are ours, and an exec would hand them on */
        execve(job->path, job->argv, job->envp);
        use_ports(1);
        log_line("linux init: cannot execute %s: %s", job->path, strerror(errno));
        _exit(STATUS_CANNOT_EXECUTE);
    }
    return child;
}

/* Reaps every process that has ended; returns whether CHILD is among them, and then its status. */
static int reap(pid_t child, int *status)
{
    pid_t ended;
    int one;
    while ((ended = waitpid(-1, &one, WNOHANG)) > 0) {
        if (ended == child) {
            *status = one;
            return 1;
        }
    }
    return 0;
}

/* What the host has said about the input so far. */
struct input {
    char word[32];       /* being received */
    size_t length;       /* of it */
    unsigned long count; /* bytes sent, of which the host waits to hear that they were read */
    int waiting;         /* it does wait */
    int ending;          /* no more will come */
    int quiet;           /* ticks for which the terminal had nothing to read */
};

/* Whether the program has read all that has come in, COUNT bytes at least. */
static int input_is_read(int terminal, unsigned long count)
{
    struct serial_icounter_struct counters;
    int left;
    return ioctl(terminal, TIOCGICOUNT, &counters) == 0 && (unsigned long)counters.rx >= count &&
           ioctl(terminal, FIONREAD, &left) == 0 && left == 0;
}

/* Makes every read of the terminal return 0 from now on. A read that already waits keeps to the mode it started in
 * until it is restarted, as a stop of its process makes it be. */
static void end_input(int terminal, pid_t child)
{
    siginfo_t stopped;
    make_raw(terminal, 0);
    kill(-child, SIGSTOP);
    waitid(P_PID, (id_t)child, &stopped, WSTOPPED | WEXITED | WNOWAIT);
    kill(-child, SIGCONT);
}

/* Takes the next byte of the host's words. */
static void take_control(struct input *input, int control)
{
    char *byte = &input->word[input->length];
    if (read(control, byte, 1) != 1) {
        return;
    }
    if (*byte != '\n') {
        input->length += input->length + 2 < sizeof(input->word);
        return;
    }
    *byte = 0;
    input->length = 0;
    input->quiet = 0;
    if (strcmp(input->word, "end") == 0) {
        input->ending = 1;
    } else {
        input->count = strtoul(input->word, NULL, 10);
        input->waiting = 1;
    }
}

/* A tick has passed while the host waits or its input has ended. */
static void follow_input(struct input *input, int terminal, pid_t child)
{
    input->quiet = input_is_read(terminal, input->count) ? input->quiet + 1 : 0;
    if (input->quiet < QUIET_TICKS) {
        return;
    }
    if (input->waiting) {
        log_line("@input %lu", input->count);
        input->waiting = 0;
    }
    if (input->ending) {
        end_input(terminal, child);
        input->ending = 0;
    }
}

/* Waits for CHILD to end, and meanwhile sees to its input; returns the status of CHILD. */
static int supervise(pid_t child, int terminal, int control, int signals)
{
    struct input input = {.length = 0};
    int status = 0;
    while (!reap(child, &status)) {
        struct pollfd sources[] = {{.fd = signals, .events = POLLIN}, {.fd = control, .events = POLLIN}};
        poll(sources, 2, input.waiting || input.ending ? TICK_MS : -1);
        if (sources[0].revents) {
            char drain[64];
            (void)!read(signals, drain, sizeof(drain));
        }
        if (sources[1].revents) {
            take_control(&input, control);
        } else if (input.waiting || input.ending) {
            follow_input(&input, terminal, child);
        }
    }
    return status;
}

static int child_pipe[2];

static void child_ended(int number)
{
    int error = errno;
    (void)number;
    (void)!write(child_pipe[1], "", 1);
    errno = error;
}

int main(void)
{
    if (use_ports(1) != 0) {
        return 1; /* there is nobody to tell: process 1 ends and Linux panics */
    }
    mount_at("proc", "/proc");
    mount_at("sysfs", "/sys");
    mount_at("devtmpfs", "/dev");
    mount_at("devpts", "/dev/pts");
    mkdir("/tmp", 01777);
    /* What every distribution adds to devtmpfs. */
    if (symlink("/proc/self/fd", "/dev/fd") != 0 || symlink("fd/0", "/dev/stdin") != 0 ||
        symlink("fd/1", "/dev/stdout") != 0 || symlink("fd/2", "/dev/stderr") != 0) {
        log_line("links in /dev");
    }

    int terminal = open("/dev/ttyS0", O_RDWR | O_NOCTTY | O_CLOEXEC);
    int control = open("/dev/ttyS1", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (terminal < 0 || control < 0 || pipe2(child_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        fail("the serial ports");
    }
    make_raw(terminal, 1);
    make_raw(control, 1);
    signal(SIGTTOU, SIG_IGN); /* this process is not the terminal's foreground job, and changes its mode all the same */
    if (setsid() < 0 || ioctl(terminal, TIOCSCTTY, 0) != 0) {
        fail("the controlling terminal");
    }
    struct job job = read_job();
    struct sigaction action = {.sa_handler = child_ended, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigaction(SIGCHLD, &action, NULL);

    log_line("@user");
    int status = supervise(start(&job, terminal, &mask), terminal, control, child_pipe[0]);
    tcdrain(terminal);
    if (WIFSIGNALED(status)) {
        log_line("@exit signal %d", WTERMSIG(status));
    } else {
        log_line("@exit code %d", WEXITSTATUS(status));
    }
    power_off();
}
