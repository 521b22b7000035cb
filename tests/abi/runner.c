/* Runs the programs of tests/abi one after another inside the machine, and tells the host how each went.
 *
 *   runner SECONDS LIST [session]    LIST is a file of lines "FILE NAME": the program NAME of the executable FILE
 *
 * It writes lines: "@begin FILE NAME", then "|LINE" for each line of the program's output, then "@end FILE NAME HOW N":
 * HOW is exit (N its status), signal (N its number), hang (it was killed after SECONDS) or stuck (it could not be
 * killed). Each program has a process group of its own (session: a session, without a terminal), an empty folder to
 * work in, where there can be one, and /dev/null as its input; what it leaves running is killed. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 100
#define TICK_US 1000
#define OUTPUT_MAX 32768
#define PATIENCE_MS 10000 /* for the end of what was killed */

static char output[OUTPUT_MAX];
static size_t length;

static int64_t now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void start(const char *file, const char *name, int number, bool session, int out)
{
    static char folder[64];
    char *const arguments[] = {(char *)name, NULL};
    char *const environment[] = {(char *)"PATH=/bin", (char *)"HOME=/", (char *)"LANG=C", NULL};

    if (session)
        setsid();
    else
        setpgid(0, 0);
    snprintf(folder, sizeof(folder), "/tmp/abi%d", number);
    if (mkdir(folder, 0755) == 0)
        (void)!chdir(folder);
    umask(022);
    dup2(open("/dev/null", O_RDWR | O_CLOEXEC), 0);
    dup2(out, 1);
    dup2(out, 2);
    execve(file, arguments, environment);
    perror(file);
    _exit(126);
}

/* Takes what has come; false at the end. What is too much is dropped. */
static bool take(int in, int wait_ms)
{
    struct pollfd source = {.fd = in, .events = POLLIN};
    static char dropped[4096];
    size_t room = sizeof(output) - length;
    ssize_t count;

    if (poll(&source, 1, wait_ms) <= 0)
        return true;
    count = read(in, room > 0 ? output + length : dropped, room > 0 ? room : sizeof(dropped));
    if (count > 0 && room > 0)
        length += (size_t)count;
    return count > 0 || (count < 0 && errno == EINTR);
}

static void tell_output(void)
{
    bool fresh = true;

    for (size_t i = 0; i < length; i++) {
        if (fresh)
            putchar('|');
        fresh = output[i] == '\n';
        putchar(fresh || isprint((unsigned char)output[i]) ? output[i] : '?');
    }
    if (!fresh)
        putchar('\n');
}

static void run(const char *file, const char *name, int number, bool session, int64_t limit_ms)
{
    const char *how = "exit";
    int status = 0, value, channel[2];
    bool ended = false, open = true;
    int64_t limit = now_ms() + limit_ms;
    pid_t child;

    printf("@begin %s %s\n", file, name);
    fflush(stdout);
    length = 0;
    if (pipe2(channel, O_CLOEXEC) != 0 || (child = fork()) < 0) {
        perror("runner");
        exit(1);
    }
    if (child == 0)
        start(file, name, number, session, channel[1]);
    if (!session)
        setpgid(child, child);
    close(channel[1]);
    while (!ended && now_ms() < limit) {
        if (open)
            open = take(channel[0], TICK_MS);
        else
            usleep(TICK_US);
        ended = waitpid(child, &status, WNOHANG) == child;
    }
    kill(-child, SIGKILL);
    if (!ended) {
        how = "hang";
        for (limit = now_ms() + PATIENCE_MS; !ended && now_ms() < limit; usleep(TICK_US))
            ended = waitpid(child, &status, WNOHANG) == child;
        if (!ended)
            how = "stuck";
    }
    for (limit = now_ms() + PATIENCE_MS / 10; open && now_ms() < limit;)
        open = take(channel[0], TICK_MS);
    close(channel[0]);
    value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (*how == 'e' && WIFSIGNALED(status))
        how = "signal";
    tell_output();
    printf("@end %s %s %s %d\n", file, name, how, value);
    fflush(stdout);
}

/* What a Linux distribution mounts before it starts programs; elsewhere it is there or these fail. */
static void mount_all(void)
{
    mkdir("/tmp", 01777);
    mkdir("/dev/pts", 0755);
    mkdir("/dev/shm", 01777);
    mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
    mount("devpts", "/dev/pts", "devpts", 0, "ptmxmode=666");
    mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
}

int main(int argc, char **argv)
{
    char line[512], *name;
    bool session = argc == 4 && strcmp(argv[3], "session") == 0;
    FILE *list = argc == 3 || session ? fopen(argv[2], "re") : NULL;

    if (list == NULL) {
        fprintf(stderr, "usage: runner SECONDS LIST [session]\n");
        return 2;
    }
    mount_all();
    for (int number = 1; fgets(line, sizeof(line), list) != NULL; number++) {
        line[strcspn(line, "\n")] = '\0';
        name = strchr(line, ' ');
        if (name == NULL)
            continue;
        *name++ = '\0';
        run(line, name, number, session, atol(argv[1]) * 1000);
    }
    printf("@all\n");
    return 0;
}
