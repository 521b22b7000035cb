/* test-sysv: System V semaphores and message queues (sysvipc(7)) between processes on all kernels. */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

#define KEY 0x4b5e

static int set;

static int step(int number, int change, int flags)
{
    struct sembuf one = {(unsigned short)number, (short)change, (short)flags};

    return semop(set, &one, 1);
}

static int value(int number)
{
    return semctl(set, number, GETVAL);
}

static int remove_set(void)
{
    return semctl(set, 0, IPC_RMID);
}

static void begin_set(int count)
{
    set = semget(IPC_PRIVATE, count, IPC_CREAT | 0600);
    CHECK(set >= 0, "%s", strerror(errno));
}

static void test_get(void)
{
    int other;

    set = semget(KEY, 3, IPC_CREAT | IPC_EXCL | 0600);
    CHECK(set >= 0, "%s", strerror(errno));
    CHECK_ERROR(semget(KEY, 3, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(semget(KEY, 0, 0) == set && semget(KEY, 3, 0600) == set, "%s", strerror(errno));
        CHECK_ERROR(semget(KEY, 4, 0), EINVAL);
        CHECK_ERROR(semget(KEY + 1, 1, 0), ENOENT);
        other = semget(IPC_PRIVATE, 1, 0600);
        CHECK(other >= 0 && other != set && semctl(other, 0, IPC_RMID) == 0, "%s", strerror(errno));
        CHECK_ERROR(semctl(other, 0, GETVAL), EINVAL);
    }
    CHECK_ERROR(semget(IPC_PRIVATE, 0, 0600), EINVAL);
    CHECK(remove_set() == 0, "%s", strerror(errno));
    CHECK_ERROR(remove_set(), EINVAL);
    CHECK_ERROR(semget(KEY, 3, 0), ENOENT);
}

static void test_steps(void)
{
    struct sembuf steps[3] = {{0, 2, 0}, {1, -1, IPC_NOWAIT}, {0, 1, 0}};
    unsigned short all[2] = {5, 6}, got[2] = {0};
    struct semid_ds facts;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        begin_set(2);
        CHECK(step(0, 3, 0) == 0 && value(0) == 3 && semctl(set, 0, GETPID) == getpid(), "%s", strerror(errno));
        CHECK_ERROR(semop(set, steps, 3), EAGAIN);
        CHECK(value(0) == 3 && value(1) == 0, "all or nothing");
        CHECK(step(1, 1, 0) == 0 && semop(set, steps, 3) == 0 && value(0) == 6 && value(1) == 0, "%s", strerror(errno));
        CHECK_ERROR(step(0, 0, IPC_NOWAIT), EAGAIN);
        CHECK(step(1, 0, IPC_NOWAIT) == 0 && step(1, 0, SEM_UNDO) == 0, "%s", strerror(errno));
        CHECK_ERROR(step(2, 1, 0), EFBIG);
        CHECK_ERROR(step(0, 32767, 0), ERANGE);
        CHECK(semctl(set, 0, SETALL, all) == 0 && semctl(set, 0, GETALL, got) == 0 && got[0] == 5 && got[1] == 6, "%s",
              strerror(errno));
        CHECK(semctl(set, 1, SETVAL, 9) == 0 && value(1) == 9, "%s", strerror(errno));
        CHECK_ERROR(semctl(set, 1, SETVAL, 40000), ERANGE);
        CHECK_ERROR(semctl(set, 2, GETVAL), EINVAL);
        CHECK(semctl(set, 0, IPC_STAT, &facts) == 0 && facts.sem_nsems == 2 && (facts.sem_perm.mode & 0777) == 0600,
              "%s", strerror(errno));
        facts.sem_perm.mode = 0644;
        CHECK(semctl(set, 0, IPC_SET, &facts) == 0 && semctl(set, 0, IPC_STAT, &facts) == 0 &&
                  (facts.sem_perm.mode & 0777) == 0644,
              "%s", strerror(errno));
        CHECK(remove_set() == 0, "%s", strerror(errno));
    }
}

/* Processes on all kernels take turns: each passes the number on. */
static void test_turns(void)
{
    int count = kernels_count() < 2 ? 2 : kernels_count(), rounds = 20, status;
    pid_t children[KERNELS_MAX];

    begin_set(count);
    for (int i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            kernels_go(i);
            for (int r = 0; r < rounds; r++) {
                if (step(i, -1, 0) != 0 || step((i + 1) % count, 1, 0) != 0)
                    _exit(1);
            }
            _exit(0);
        }
    }
    CHECK(step(0, 1, 0) == 0, "%s", strerror(errno));
    for (int i = 0; i < count; i++)
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0, "status %x", status);
    CHECK(value(0) == 1, "%d", value(0));
    CHECK(remove_set() == 0, "%s", strerror(errno));
}

/* What a process has taken is given back when it dies, wherever. */
static void test_undo(void)
{
    begin_set(2);
    for (int k = 0; k < kernels_count(); k++) {
        int status;
        pid_t child;

        CHECK(semctl(set, 0, SETVAL, 1) == 0 && semctl(set, 1, SETVAL, 0) == 0, "%s", strerror(errno));
        child = fork();
        if (child == 0) {
            kernels_go(k);
            if (step(0, -1, SEM_UNDO) != 0 || step(1, 1, 0) != 0)
                _exit(1);
            if (k % 2 == 0)
                _exit(0);
            for (;;)
                pause();
        }
        CHECK(step(1, -1, 0) == 0, "%s", strerror(errno)); /* it has it */
        if (k % 2 == 0) {
            CHECK(step(0, -1, 0) == 0, "%s", strerror(errno)); /* waits for its end */
            CHECK(step(0, 1, 0) == 0, "%s", strerror(errno));
        } else {
            CHECK(value(0) == 0 && kill(child, SIGKILL) == 0, "%s", strerror(errno));
        }
        CHECK(waitpid(child, &status, 0) == child, "%s", strerror(errno));
        CHECK(value(0) == 1, "%d", value(0));
    }
    CHECK(remove_set() == 0, "%s", strerror(errno));
}

/* A child on kernel K that does COUNT STEPS, and exits with 0 if they were done. */
static pid_t waiter(int k, struct sembuf *steps, size_t count)
{
    pid_t child = fork();

    if (child == 0) {
        kernels_go(k);
        _exit(semop(set, steps, count) == 0 ? 0 : 1);
    }
    return child;
}

static void await_count(int number, int command, int goal)
{
    while (semctl(set, number, command) != goal && errno == 0)
        sched_yield();
}

/* Who waits for a semaphore is counted, until it waits no more for whatever reason. */
static void test_waiters(void)
{
    struct sembuf take = {0, -2, 0}, zero = {1, 0, 0}, both[2] = {{1, 1, 0}, {0, -3, 0}};

    errno = 0;
    for (int k = 0; k < kernels_count(); k++) {
        pid_t children[4];
        int status;

        kernels_go(k);
        begin_set(2);
        CHECK(semctl(set, 1, SETVAL, 1) == 0 && semctl(set, 0, GETNCNT) == 0 && semctl(set, 1, GETZCNT) == 0, "%s",
              strerror(errno));
        children[0] = waiter(k + 1, &take, 1);
        children[1] = waiter(k + 2, &take, 1);
        children[2] = waiter(k + 3, &zero, 1);
        children[3] = waiter(k, both, 2);
        await_count(0, GETNCNT, 3);
        await_count(1, GETZCNT, 1);
        CHECK(semctl(set, 0, GETZCNT) == 0 && semctl(set, 1, GETNCNT) == 0, "%s", strerror(errno));
        CHECK_ERROR(semctl(set, 2, GETNCNT), EINVAL);
        errno = 0;
        CHECK(kill(children[0], SIGKILL) == 0 && waitpid(children[0], &status, 0) == children[0] &&
                  semctl(set, 0, GETNCNT) == 2,
              "after one was killed: %d", semctl(set, 0, GETNCNT));
        CHECK(step(0, 1, 0) == 0 && semctl(set, 0, GETNCNT) == 2, "%d", semctl(set, 0, GETNCNT));
        CHECK(step(0, 1, 0) == 0 && waitpid(children[1], &status, 0) == children[1] && status == 0 &&
                  semctl(set, 0, GETNCNT) == 1,
              "after one went on: %d", semctl(set, 0, GETNCNT));
        CHECK(step(1, -1, 0) == 0 && waitpid(children[2], &status, 0) == children[2] && status == 0 &&
                  semctl(set, 1, GETZCNT) == 0,
              "%d", semctl(set, 1, GETZCNT));
        CHECK(remove_set() == 0 && waitpid(children[3], &status, 0) == children[3] && WEXITSTATUS(status) == 1,
              "status %x", status);
    }
}

/* What is to be undone is bounded as values are. */
static void test_undo_range(void)
{
    struct sembuf steps[2] = {{0, 1, SEM_UNDO}, {0, 32766, SEM_UNDO}};
    unsigned short all = 3;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        begin_set(1);
        CHECK(semctl(set, 0, SETALL, &all) == 0 && semctl(set, 0, GETPID) == getpid(), "%s", strerror(errno));
        CHECK(step(0, -3, 0) == 0 && step(0, 32767, SEM_UNDO) == 0 && step(0, -32767, 0) == 0, "%s", strerror(errno));
        CHECK_ERROR(semop(set, steps, 2), ERANGE);
        CHECK(value(0) == 0, "%d", value(0));
        CHECK(step(0, 1, SEM_UNDO) == 0 && step(0, -1, 0) == 0, "what did not happen is not undone");
        CHECK_ERROR(step(0, 1, SEM_UNDO), ERANGE);
        CHECK(remove_set() == 0, "%s", strerror(errno));
    }
}

static void on_alarm(int number)
{
    (void)number;
}

static void test_waits_end(void)
{
    struct sembuf one = {0, -1, 0};
    struct timespec soon = {0, 50000000};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

    for (int k = 0; k < kernels_count(); k++) {
        int status;
        pid_t child;

        begin_set(1);
        kernels_go(k);
        CHECK_ERROR(semtimedop(set, &one, 1, &soon), EAGAIN);
        sigaction(SIGUSR1, &action, NULL);
        child = fork();
        if (child == 0) {
            pid_t parent = getppid();

            kernels_go(k + 1);
            while (semctl(set, 0, GETVAL) == 0) { /* until it has seen the signal */
                kill(parent, SIGUSR1);
                usleep(10000);
            }
            _exit(0);
        }
        CHECK_ERROR(step(0, -1, 0), EINTR); /* whatever SA_RESTART says */
        CHECK(semctl(set, 0, SETVAL, 1) == 0 && waitpid(child, &status, 0) == child, "%s", strerror(errno));
        CHECK(semctl(set, 0, SETVAL, 0) == 0, "%s", strerror(errno));
        child = fork();
        if (child == 0) {
            kernels_go(k + 1);
            if (step(0, -1, 0) != -1)
                _exit(1);
            /* It is removed while we wait, or, where nothing tells that we do, before. */
            _exit(errno == EIDRM || (tap_on_kettle() && errno == EINVAL) ? 0 : 2);
        }
        while (semctl(set, 0, GETNCNT) != 1 && !tap_on_kettle())
            usleep(1000);
        CHECK(remove_set() == 0 && waitpid(child, &status, 0) == child, "%s", strerror(errno));
        CHECK(status == 0, "status %x", status);
    }
}

struct message {
    long type;
    char text[32];
};

static void test_queue(void)
{
    struct message message = {0, ""};
    struct msqid_ds facts;

    for (int k = 0; k < kernels_count(); k++) {
        int queue;

        kernels_go(k);
        queue = msgget(KEY, IPC_CREAT | IPC_EXCL | 0600);
        CHECK(queue >= 0, "%s", strerror(errno));
        for (int i = 0; i < 4; i++) {
            message.type = (long[]){3, 1, 2, 1}[i];
            snprintf(message.text, sizeof(message.text), "number %d", i);
            CHECK(msgsnd(queue, &message, 9, 0) == 0, "%s", strerror(errno));
        }
        kernels_go(k + 1);
        CHECK(msgget(KEY, 0) == queue && msgctl(queue, IPC_STAT, &facts) == 0 && facts.msg_qnum == 4, "%s",
              strerror(errno));
        CHECK(msgrcv(queue, &message, 32, 2, 0) == 9 && strcmp(message.text, "number 2") == 0, "'%s'", message.text);
        CHECK(msgrcv(queue, &message, 32, -2, 0) == 9 && strcmp(message.text, "number 1") == 0, "'%s'", message.text);
        CHECK_ERROR(msgrcv(queue, &message, 3, 0, 0), E2BIG);
        CHECK(msgrcv(queue, &message, 3, 1, MSG_EXCEPT | MSG_NOERROR) == 3 && message.type == 3, "%ld", message.type);
        CHECK_ERROR(msgrcv(queue, &message, 32, 7, IPC_NOWAIT), ENOMSG);
        CHECK(msgrcv(queue, &message, 32, 0, 0) == 9 && strcmp(message.text, "number 3") == 0, "'%s'", message.text);
        message.type = 0;
        CHECK_ERROR(msgsnd(queue, &message, 1, 0), EINVAL);
        CHECK(msgctl(queue, IPC_RMID, NULL) == 0, "%s", strerror(errno));
        CHECK_ERROR(msgsnd(queue, &message, 1, 0), EINVAL);
    }
}

/* A writer on one kernel fills the queue, a reader on another empties it. */
static void test_full_queue(void)
{
    struct {
        long type;
        char bytes[4096];
    } message = {1, ""};

    for (int k = 0; k < kernels_count(); k++) {
        int queue = msgget(IPC_PRIVATE, 0600), status;
        pid_t child = fork();

        if (child == 0) {
            kernels_go(k);
            for (int i = 0; i < 20; i++) {
                message.bytes[0] = (char)i;
                if (msgsnd(queue, &message, sizeof(message.bytes), 0) != 0)
                    _exit(1);
            }
            _exit(0);
        }
        kernels_go(k + 1);
        for (int i = 0; i < 20; i++)
            CHECK(msgrcv(queue, &message, sizeof(message.bytes), 0, 0) == 4096 && message.bytes[0] == i, "number %d",
                  i);
        CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
        for (int i = 0; i < 4; i++)
            CHECK(msgsnd(queue, &message, sizeof(message.bytes), IPC_NOWAIT) == 0, "%s", strerror(errno));
        CHECK_ERROR(msgsnd(queue, &message, 1, IPC_NOWAIT), EAGAIN);
        CHECK(msgctl(queue, IPC_RMID, NULL) == 0, "%s", strerror(errno));
    }
}

static int as_user(void *context)
{
    unsigned short values[1] = {7};

    (void)context;
    if (setresuid(1000, 1000, 1000) != 0)
        return 1;
    if (semctl(set, 0, GETVAL) != -1 || errno != EACCES || semctl(set, 0, GETALL, values) != -1 || errno != EACCES)
        return 2;
    if (step(0, 1, 0) != -1 || errno != EACCES)
        return 3;
    if (semctl(set, 0, SETALL, values) != -1 || errno != EACCES)
        return 5;
    return semctl(set, 0, IPC_RMID) == -1 && errno == EPERM ? 0 : 4;
}

/* KEY's set may be read and written by all, SET only written. */
static int as_writer(void *context)
{
    unsigned short values[1] = {7};

    (void)context;
    if (setresuid(1000, 1000, 1000) != 0)
        return 1;
    if (semctl(set, 0, SETALL, values) != 0)
        return 2;
    if (semctl(set, 0, GETALL, values) != -1 || errno != EACCES)
        return 3;
    if (semctl(set, 9, SETVAL, 40000) != -1 || errno != ERANGE)
        return 4;
    if (semget(KEY, 0, 0666) < 0)
        return 5;
    return semget(KEY, 0, 0777) == -1 && errno == EACCES ? 0 : 6;
}

/* A user in the group CONTEXT; 0 if it may read. */
static int as_member(void *context)
{
    gid_t group = (gid_t)(long)context;

    if (setgroups(0, NULL) != 0 || setresgid(group, group, group) != 0 || setresuid(1000, 1000, 1000) != 0)
        return 1;
    return semctl(set, 0, GETVAL) == 0 ? 0 : errno == EACCES ? 2 : 3;
}

/* Who is in the owner's group, or the creator's, has what that has, though others have more. */
static void test_groups(void)
{
    struct semid_ds facts;

    begin_set(1);
    CHECK(semctl(set, 0, IPC_STAT, &facts) == 0, "%s", strerror(errno));
    facts.sem_perm.gid = 100;
    facts.sem_perm.mode = 0606;
    CHECK(semctl(set, 0, IPC_SET, &facts) == 0, "%s", strerror(errno));
    CHECK(tap_fork(as_member, (void *)100l) == 2, "the owner's group");
    CHECK(tap_fork(as_member, (void *)(long)getgid()) == 2, "the creator's group");
    CHECK(tap_fork(as_member, (void *)101l) == 0, "others");
    CHECK(remove_set() == 0, "%s", strerror(errno));
}

static void test_user(void)
{
    int status;

    begin_set(1);
    status = tap_fork(as_user, NULL);
    CHECK(status == 0, "status %d", status);
    CHECK(remove_set() == 0, "%s", strerror(errno));
}

static void test_writer(void)
{
    int other = semget(KEY, 1, IPC_CREAT | IPC_EXCL | 0666), status;
    struct semid_ds facts;

    CHECK(other >= 0 && semget(KEY, 0, 0777) == other, "%s", strerror(errno));
    set = semget(IPC_PRIVATE, 1, 0622);
    CHECK(set >= 0, "%s", strerror(errno));
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        status = tap_fork(as_writer, NULL);
        CHECK(status == 0, "status %d", status);
        CHECK(value(0) == 7 && semctl(set, 0, IPC_STAT, &facts) == 0, "%s", strerror(errno));
        facts.sem_perm.uid = (uid_t)-1;
        CHECK_ERROR(semctl(set, 0, IPC_SET, &facts), EINVAL);
        facts.sem_perm.uid = 0;
        facts.sem_perm.gid = (gid_t)-1;
        CHECK_ERROR(semctl(set, 0, IPC_SET, &facts), EINVAL);
    }
    CHECK(remove_set() == 0 && semctl(other, 0, IPC_RMID) == 0, "%s", strerror(errno));
}

static const struct tap_test tests[] = {
    {"get", "semaphore sets have the same keys and ids on every kernel", test_get},
    {"steps", "a semop does all its steps or none, and values are set and read", test_steps},
    {"turns", "processes on all kernels take turns by a semaphore", test_turns},
    {"undo", "SEM_UNDO is undone at the end of its process", test_undo},
    {"waiters", "GETNCNT and GETZCNT count the waiting processes", test_waiters},
    {"undo-range", "an undone value stays in the range of values", test_undo_range},
    {"waits-end", "a wait ends with its timeout, a signal, and the removal of the set", test_waits_end},
    {"queue", "messages are received by type", test_queue},
    {"full-queue", "a full queue makes the writer wait", test_full_queue},
    {"user", "a user who is not the owner is held to the permissions", test_user},
    {"writer", "a user with write permission sets values, and only owners change the set", test_writer},
    {"groups", "members of the group have its permissions", test_groups},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
