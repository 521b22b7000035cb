/* test-death: what a kernel has got from a second one for a third one, and dies with: opens of files, grants of
 * objects, references to frames; and a child that has ended, which nobody else waits for. The audit compares the counts
 * of who has given them with what the others have. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define MAPPED "/tmp/death-mapped"
#define DONE 7 /* status of what works on the kernel that was to die, and has not */

/* The messages by which the work below gets references, or gives them back: the kernel dies when it is about to take
 * the answer, so that the reference is counted and nobody has it. The first answer to FILE_MAP says which kernel has
 * the file. */
static const struct {
    const char *type;
    int number;
} states[] = {
    {"FILE_MAP", 1},     {"FILE_MAP", 2},     {"FILE_HOLD", 1},       {"IPC", 1},          {"SPACE_MAP", 1},
    {"NAME_OPEN", 1},    {"FILE_INSTALL", 1}, {"FILE_PIPE", 1},       {"FILE_SHARE", 1},   {"FILE_DROP", 1},
    {"FILE_LOCATE", 1},  {"FILE_OPERATE", 1}, {"FILE_PAGE", 1},       {"FRAME_SHARE", 1},  {"SPACE_TAKE", 1},
    {"SPACE_SWITCH", 1}, {"SPAWN", 1},        {"FILE_TABLE_COPY", 1}, {"PROCESS_WAIT", 1}, {"PROCESS_WAIT", 2},
    {"PROCESS_WAIT", 3}, {"PROCESS_WAIT", 4}, {"PROCESS_REAPED", 1},
};

static void map_something(void)
{
    int fd = open(MAPPED, O_RDWR);
    char *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd < 0 || memory == MAP_FAILED)
        _exit(70);
    memory[0]++;
    close(fd);
    munmap(memory, 2 * PAGE);
}

static void attach_something(int segment)
{
    char *memory = shmat(segment, NULL, 0);

    if (memory == (void *)-1)
        _exit(71);
    memory[0]++;
    shmdt(memory);
}

static void pass_something(const int *ends)
{
    int fds[2];

    if (pipe(fds) != 0)
        _exit(72);
    death_send_fd(ends[0], fds[0]);
    close(fds[0]);
    close(death_receive_fd(ends[1]));
    death_send_fd(ends[0], fds[1]); /* stays in the socket, until the next turn */
    close(fds[1]);
    close(death_receive_fd(ends[1]));
}

int death_home_over(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

/* Children at home here and on a third kernel. */
static void start_something(int third, char *memory)
{
    char *argv[] = {(char *)(uintptr_t)tap_self(), "@over", NULL};
    pid_t child = fork();

    if (child == 0) {
        memory[0] = memory[PAGE] = 1;
        _exit(0);
    }
    memory[2 * PAGE] = 1;
    kettle_spawn(third, argv[0], argv, (char *[]){NULL}, NULL);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/* A thread on DYING of a process at home on HOME, until that is over. */
static void work_there(int dying, int home, int third, int segment)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int ends[2];

    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    for (long turn = 0; death_board->over == 0; turn++) {
        death_go(turn % 2 == 0 ? home : third);
        memset(memory, (int)turn, PAGES * PAGE);
        death_go(dying);
        memory[(PAGES - 1) * PAGE] = 1;
        map_something();
        attach_something(segment);
        pass_something(ends);
        start_something(third, memory);
        atomic_fetch_add(&death_board->done[0], 1);
    }
    _exit(DONE);
}

/* Returns how the process at home on HOME, where this one never was, has ended. */
static int await_work(int dying, int home, int segment)
{
    int status = 0;
    pid_t child;

    death_go(home);
    child = FORK();
    if (child == 0)
        work_there(dying, home, 0, segment);
    MUST(waitpid(child, &status, 0));
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* At the NUMBERth message of TYPE. False: it has not come in some turns. */
static bool die_with(const char *type, int number, int dying, int home)
{
    int segment = (int)MUST(shmget(IPC_PRIVATE, 2 * PAGE, IPC_CREAT | 0600));
    int file = (int)MUST(open(MAPPED, O_RDWR | O_CREAT | O_TRUNC, 0600));
    static pid_t pids[DEATH_PIDS];
    int before = death_processes(pids);
    struct shmid_ds facts;
    char words[64];
    int status = 0;
    pid_t child;
    bool came;

    death_state = type;
    death_begin();
    MUST(ftruncate(file, 2 * PAGE));
    child = FORK();
    if (child == 0)
        _exit(await_work(dying, home, segment));
    UNTIL(death_board->done[0] > 0, "a turn of all");
    snprintf(words, sizeof(words), "kernel=%d inject=type:%s,delay:0,dies:%d", dying, type, number);
    CHECK(kettle_control(words) == 0, "%s: %s", words, tap_error(errno));
    for (long turns = death_board->done[0] + 3; kettle_started(dying) != 0 && death_board->done[0] < turns;)
        sched_yield();
    death_board->over = 1;
    MUST(waitpid(child, &status, 0)); /* the death may come until then */
    came = WIFEXITED(status) && WEXITSTATUS(status) == SIGKILL;
    CHECK(came || (WIFEXITED(status) && WEXITSTATUS(status) == DONE), "%s: it ends with %x", type, status);
    snprintf(words, sizeof(words), "kernel=%d inject=off", dying);
    if (!came) /* an error: it has died of what came after the end of the process */
        came = kettle_control(words) != 0;
    if (came)
        UNTIL(kettle_started(dying) == 0, "a death to be noticed");
    UNTIL(death_processes(pids) <= before, "children that have ended to be released");
    close(file);
    MUST(unlink(MAPPED));
    UNTIL((MUST(shmctl(segment, IPC_STAT, &facts)), facts.shm_nattch == 0), "the dead kernel's process to be detached");
    MUST(shmctl(segment, IPC_RMID, NULL));
    death_audit();
    if (came)
        death_start_again(dying);
    return came;
}

void death_test_references(void)
{
    char line[512] = "";
    int count = 0;

    for (size_t i = 0; i < TAP_COUNT(states); i++) {
        int dying = death_victim((int)i);
        char word[64];

        if (!die_with(states[i].type, states[i].number, dying, death_neighbour(dying)))
            continue;
        count++;
        snprintf(word, sizeof(word), " %s:%d", states[i].type, states[i].number);
        if (strlen(line) + strlen(word) < sizeof(line))
            strcat(line, word);
    }
    death_state = "no message";
    CHECK(count > (int)TAP_COUNT(states) / 2, "%d of %zu deaths came:%s", count, TAP_COUNT(states), line);
    tap_note("%d of %zu deaths came:%s", count, TAP_COUNT(states), line);
}
