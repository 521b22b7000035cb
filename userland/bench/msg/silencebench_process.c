/* silencebench: calls that look at many processes: the list of /proc, signals, children, the choice of one to kill. */
#include "userland/bench/msg/silencebench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"

#define CHILDREN 20000
#define GETDENTS 217
#define MANY_WORDS 200000
#define LONG_WORDS 7
#define LONG_WORD 131072 /* bytes, the most that one may have */

static void list_processes(void)
{
    static char names[1 << 16];
    int proc = open("/proc", O_RDONLY | O_DIRECTORY);

    if (proc < 0)
        silence_fail("/proc");
    while (syscall(GETDENTS, proc, names, sizeof(names)) > 0)
        continue;
    close(proc);
}

static void signal_all(void)
{
    if (kill(0, 0) != 0)
        silence_fail("kill");
}

/* CHILDREN processes that have ended and are not waited for. */
static void make_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        pid_t born = vfork();

        if (born < 0)
            silence_fail("vfork");
        if (born == 0)
            _exit(0);
    }
}

/* Waits for none of them: they are in another process group. Then another child ends, in a group of its own, of which
 * the kernel looks whether it is orphaned now. */
static void look_at_children(void)
{
    siginfo_t info;
    pid_t last;

    if (waitid(P_PGID, 1, &info, WEXITED | WNOHANG) != -1 || errno != ECHILD)
        silence_fail("waitid");
    last = fork();
    if (last < 0)
        silence_fail("fork");
    if (last == 0) {
        setpgid(0, 0);
        _exit(0);
    }
    if (waitpid(last, NULL, 0) != last)
        silence_fail("waitpid");
}

/* A process takes memory until it is killed. */
static void exhaust_memory(void)
{
    pid_t born = fork();
    int status;

    if (born < 0)
        silence_fail("fork");
    if (born == 0) {
        for (;;)
            silence_touch(silence_map(SILENCE_MEMORY, 0), SILENCE_MEMORY);
    }
    if (waitpid(born, &status, 0) != born || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        silence_fail("a process without memory");
}

static char **words; /* of a program that goes on as this one would, and COUNT arguments of SIZE bytes more */

static void make_words(size_t count, size_t size)
{
    char *word = malloc(size);

    words = calloc(count + 4, sizeof(*words));
    if (words == NULL || word == NULL)
        silence_fail("malloc");
    memset(word, 'a', size);
    word[size - 1] = '\0';
    words[0] = "silencebench";
    words[1] = "--go-on";
    words[2] = silence_go_on;
    for (size_t i = 0; i < count; i++)
        words[3 + i] = word;
}

static void make_many_words(void)
{
    make_words(MANY_WORDS, 1);
}

static void make_long_words(void)
{
    make_words(LONG_WORDS, LONG_WORD);
}

static void spawn_words(void)
{
    extern char **environ;
    char path[256] = {0};
    int status;
    pid_t born;

    if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
        silence_fail("/proc/self/exe");
    words[1] = "--end";
    born = kettle_spawn(kettle_kernel(), path, words, environ, NULL);
    if (born < 0 || waitpid(born, &status, 0) != born || status != 0)
        silence_fail("kettle_spawn");
}

static void exec_words(void)
{
    execv("/proc/self/exe", words);
    silence_fail("exec");
}

const struct silence_case silence_of_process[] = {
    {"processes", "list of /proc with 2,000 processes", silence_make_processes, list_processes, ANY_KERNEL},
    {"kill", "kill(0, 0) with 2,000 processes", silence_make_processes, signal_all, ANY_KERNEL},
    {"kill_far", "kill(0, 0) with 2,000 processes of another kernel", silence_make_processes_elsewhere, signal_all,
     OTHER_KERNEL},
    {"children", "a wait and a look at 20,000 children", make_children, look_at_children, ANY_KERNEL},
    {"children_exit", "exit of a process with 20,000 children", make_children, NULL, ANY_KERNEL},
    {"exec_many", "exec with 200,000 empty arguments", make_many_words, exec_words, ANY_KERNEL},
    {"exec_long", "exec with seven arguments of 128 KiB", make_long_words, exec_words, ANY_KERNEL},
    {"spawn_long", "kettle_spawn with seven arguments of 128 KiB", make_long_words, spawn_words, ANY_KERNEL},
    {"oom", "the choice of a process to kill among 2,000", silence_make_processes, exhaust_memory, ANY_KERNEL},
    {0},
};
