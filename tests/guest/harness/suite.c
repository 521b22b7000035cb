/* suite FILE: runs the programs that FILE names, one command in a line, words separated by blanks, one after another,
 * and marks in its output where the output of each begins and ends:
 *
 *     @suite begin LINE
 *     @suite end LINE STATUS MILLISECONDS LEFT
 *
 * LINE counts from 0. STATUS is the exit status, or 128 and the signal. LEFT is the number of processes that the
 * program left running: they are named, and killed. A program that hangs hangs the suite: what
 * ends it is the machine's time limit, with the dump of all waits. A program reads end of file, and begins at the
 * suite's kernel in a session of its own. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024
#define WORDS_MAX 64

static int64_t milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Becomes the program ARGV of the image or of the run. */
static _Noreturn void execute(char *const argv[])
{
    static const char *const directories[] = {"/bin", "/run"};

    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
        char path[LINE_MAX_BYTES + 8];

        snprintf(path, sizeof(path), "%s/%s", directories[i], argv[0]);
        execv(path, argv);
    }
    fprintf(stderr, "suite: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static pid_t start(char *const argv[])
{
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);

        if (null < 0 || dup2(null, 0) < 0 || setsid() < 0) {
            perror("suite: the program's environment");
            _exit(126);
        }
        close(null);
        execute(argv);
    }
    return child;
}

/* Finds a process of a session, which is neither the first nor this one (Linux's own threads have no session), and
 * reads its line in /proc to TEXT. Returns its id, or 0. */
static pid_t find_other(char *text, size_t size)
{
    DIR *directory = opendir("/proc");
    pid_t found = 0;

    if (directory == NULL)
        return 0;
    for (struct dirent *entry; found == 0 && (entry = readdir(directory)) != NULL;) {
        pid_t id = atoi(entry->d_name);
        char name[64];
        int session = 0;
        FILE *file;

        if (id <= 1 || id == getpid())
            continue;
        snprintf(name, sizeof(name), "/proc/%d/stat", id);
        file = fopen(name, "re");
        if (file == NULL)
            continue;
        if (fgets(text, (int)size, file) != NULL && strrchr(text, ')') != NULL)
            sscanf(strrchr(text, ')'), ") %*c %*d %*d %d", &session);
        fclose(file);
        if (session > 0)
            found = id;
    }
    closedir(directory);
    return found;
}

/* Kills the processes that a program left behind, and waits until they are gone. Returns their number: orphans that had
 * ended, but had not been reaped, are not counted. */
static int kill_rest(void)
{
    char text[512];
    pid_t last = 0, other;
    int count = 0;

    while ((other = find_other(text, sizeof(text))) > 0) {
        if (other != last && strchr("ZX", strrchr(text, ')')[2]) == NULL) {
            printf("\nsuite: process %d is left: %s", other, text);
            count++;
        }
        last = other;
        kill(other, SIGKILL);
        waitpid(-1, NULL, WNOHANG);
        sched_yield();
    }
    return count;
}

static void run(unsigned line, char *text)
{
    char *argv[WORDS_MAX + 1];
    int64_t begin = milliseconds(), end;
    int count = 0, status = 127 << 8, left;
    pid_t child;

    for (char *rest, *word = strtok_r(text, " \n", &rest); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " \n", &rest))
        argv[count++] = word;
    argv[count] = NULL;
    if (count == 0)
        return;
    printf("\n@suite begin %u\n", line);
    child = start(argv);
    if (child < 0)
        perror("suite: fork");
    while (child > 0) {
        pid_t ended = waitpid(-1, &status, 0);

        if (ended == child || (ended < 0 && errno != EINTR))
            break;
    }
    end = milliseconds();
    left = kill_rest();
    printf("\n@suite end %u %d %lld %d\n", line, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
           (long long)(end - begin), left);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char text[LINE_MAX_BYTES];
    FILE *file;

    if (argc != 2 || (file = fopen(argv[1], "re")) == NULL) {
        fprintf(stderr, "usage: suite FILE\n");
        return 2;
    }
    for (unsigned line = 0; fgets(text, sizeof(text), file) != NULL; line++)
        run(line, text);
    fclose(file);
    return 0;
}
