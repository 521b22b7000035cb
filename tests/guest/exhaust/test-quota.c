/* test-quota: what a user without privileges has of timers, watches of epoll sets, message queues, files and System V's
 * objects is limited, with Linux's errors; another user and root go on, and what is given back may be taken again. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"

#define USER 1000
#define OTHER 1001
#define TIMERS 20
#define DESCRIPTORS 800

/* Each takes one, and returns 0, or an errno. Afterwards drop_all gives back all that this process has taken. */
static int (*take)(void);
static void (*drop_all)(void);
static int refusal;
static bool stays; /* what was taken stays when the process ends, or a little longer: a file of another kernel */

static timer_t timers[TIMERS + 1];
static int timer_count;

static int take_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_NONE};

    if (timer_count > TIMERS)
        return ERANGE;
    return timer_create(CLOCK_MONOTONIC, &event, &timers[timer_count]) == 0 ? (timer_count++, 0) : errno;
}

static void drop_timers(void)
{
    while (timer_count > 0)
        MUST(timer_delete(timers[--timer_count]));
}

static int queue_count, queues[64];

static int take_queue(void)
{
    struct mq_attr attr = {.mq_maxmsg = 10, .mq_msgsize = 8192};
    char name[32];

    if (queue_count == 64)
        return ERANGE;
    snprintf(name, sizeof(name), "/quota-%d", (int)getpid() * 64 + queue_count);
    queues[queue_count] = mq_open(name, O_RDWR | O_CREAT, 0600, &attr);
    if (queues[queue_count] < 0)
        return errno;
    MUST(mq_unlink(name)); /* it counts as long as it is open */
    queue_count++;
    return 0;
}

static void drop_queues(void)
{
    while (queue_count > 0)
        MUST(close(queues[--queue_count]));
}

static int watched[DESCRIPTORS], sets[220], set_count, watch_count;

static int take_watch(void)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (watch_count % DESCRIPTORS == 0) {
        if (set_count == 220)
            return ERANGE;
        sets[set_count++] = (int)MUST(epoll_create1(0));
    }
    if (watched[0] == 0) {
        int ends[2];

        MUST(pipe(ends));
        for (int i = 0; i < DESCRIPTORS; i++)
            watched[i] = (int)MUST(dup(ends[0]));
    }
    if (epoll_ctl(sets[set_count - 1], EPOLL_CTL_ADD, watched[watch_count % DESCRIPTORS], &event) != 0)
        return errno;
    watch_count++;
    return 0;
}

static void drop_watches(void)
{
    while (set_count > 0)
        MUST(close(sets[--set_count]));
    watch_count = 0;
}

/* --- files, and System V's objects: all on kernel 0 --- */

#define DIRECTORY "/tmp/quota"
#define CHUNK 65536 /* bytes of one write */
#define OBJECTS 4096
#define SEMAPHORES 4096
#define MESSAGE 4096

static int file_count;

static void name_file(char *name, int number)
{
    snprintf(name, 64, DIRECTORY "/%d-%d", (int)getpid(), number);
}

/* A link, whose target takes memory, so that not too many are needed. */
static int take_file(void)
{
    static char target[PATH_MAX];
    char name[64];

    memset(target, 't', sizeof(target) - 1);
    name_file(name, file_count);
    return symlink(target, name) == 0 ? (file_count++, 0) : errno;
}

static void drop_files(void)
{
    char name[64];

    while (file_count > 0) {
        name_file(name, --file_count);
        MUST(unlink(name));
    }
}

static int memory_file = -1;

static int take_pages(void)
{
    static const char bytes[CHUNK];

    if (memory_file < 0)
        memory_file = (int)MUST(memfd_create("quota", 0));
    return write(memory_file, bytes, sizeof(bytes)) > 0 ? 0 : errno;
}

static void drop_pages(void)
{
    if (memory_file < 0)
        return;
    MUST(ftruncate(memory_file, 0)); /* they come back at once, also to who has it open */
    MUST(lseek(memory_file, 0, SEEK_SET));
}

static int objects[OBJECTS], object_count;

static int take_semaphores(void)
{
    if (object_count == OBJECTS)
        return ERANGE;
    objects[object_count] = semget(IPC_PRIVATE, SEMAPHORES, IPC_CREAT | 0600);
    return objects[object_count] >= 0 ? (object_count++, 0) : errno;
}

static void drop_semaphores(void)
{
    while (object_count > 0)
        MUST(semctl(objects[--object_count], 0, IPC_RMID));
}

static int take_message(void)
{
    static struct {
        long type;
        char text[MESSAGE];
    } message = {.type = 1};
    int error = object_count == 0 ? EAGAIN : 0;

    if (error == 0 && msgsnd(objects[object_count - 1], &message, MESSAGE, IPC_NOWAIT) != 0)
        error = errno;
    if (error != EAGAIN)
        return error;
    if (object_count == OBJECTS)
        return ERANGE;
    objects[object_count] = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    if (objects[object_count] < 0)
        return errno == ENOSPC ? ENOMEM : errno; /* what is left may be too little for the queue, too */
    return msgsnd(objects[object_count++], &message, MESSAGE, IPC_NOWAIT) == 0 ? 0 : errno;
}

static void drop_messages(void)
{
    while (object_count > 0)
        MUST(msgctl(objects[--object_count], IPC_RMID, NULL));
}

/* --- the test --- */

/* Takes all there is. */
static long take_all(void)
{
    long made = 0;
    int error;

    while ((error = take()) == 0)
        made++;
    CHECK(error == refusal, "refused with %s after %ld", tap_error(error), made);
    return made;
}

/* A process of UID takes one: 0, or the refusal. */
static int take_as(uid_t uid)
{
    pid_t child = FORK();
    int status = 0;

    if (child == 0) {
        int error;

        timer_count = queue_count = set_count = watch_count = 0; /* not inherited, or the parent's */
        file_count = object_count = 0;
        memory_file = -1;
        MUST(setresuid(uid, uid, uid));
        error = take();
        drop_all();
        _exit(error);
    }
    MUST(waitpid(child, &status, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int be_user(void *number)
{
    struct rlimit limit = {TIMERS, TIMERS}, files = {DESCRIPTORS + 224, DESCRIPTORS + 224};
    long made, again;

    MUST(setrlimit(RLIMIT_NOFILE, &files));
    MUST(setrlimit(RLIMIT_SIGPENDING, &limit));
    MUST(setresuid(USER, USER, 0));
    made = take_all();
    CHECK(made > 0, "nothing was given");
    CHECK(take_as(USER) == refusal, "another process of this user is not refused");
    CHECK(seteuid(0) == 0 && take_as(OTHER) == 0 && take_as(0) == 0, "others are refused: %s", tap_error(errno));
    MUST(setresuid(USER, USER, 0));
    drop_all();
    again = take_all();
    CHECK(again == made, "first %ld, then %ld", made, again);
    tap_note("%ld from kernel %ld, then %s", made, (long)number, tap_error(refusal));
    if (stays) /* else what it has goes with it */
        drop_all();
    return 0;
}

/* A process that stays where it is: there its children have their homes, and theirs. */
static int stay(void *number)
{
    cpu_set_t here;

    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    MUST(sched_setaffinity(0, sizeof(here), &here));
    return tap_fork(be_user, number);
}

static void test(int (*takes)(void), void (*drops)(void), int refused)
{
    bool central = takes == take_file || takes == take_pages || takes == take_semaphores || takes == take_message;

    take = takes;
    drop_all = drops;
    refusal = refused;
    stays = central;
    for (long k = 0; k < kernels_count(); k++) {
        /* The first has given everything back, as it has ended. */
        for (int again = 0; again < (central ? 1 : 2); again++) {
            kernels_go(k); /* what a user has is counted on each kernel: the child's home */
            CHECK(tap_fork(stay, (void *)k) == 0, "on kernel %ld", k);
        }
        if ((takes == take_watch || central) && k == 1)
            break; /* these are many, or on kernel 0 whatever the home is */
    }
    kernels_go(0);
}

static void test_timers(void)
{
    test(take_timer, drop_timers, EAGAIN);
}

static void test_queues(void)
{
    test(take_queue, drop_queues, EMFILE);
}

static void test_watches(void)
{
    test(take_watch, drop_watches, ENOSPC);
}

static void test_files(void)
{
    MUST(mkdir(DIRECTORY, 0700));
    MUST(chmod(DIRECTORY, 0777));
    test(take_file, drop_files, EDQUOT);
    MUST(rmdir(DIRECTORY));
}

/* Calls by which a user has no more than before, or would have another kind of object. */
static void test_full(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    pid_t child;

    MUST(mkdir(DIRECTORY, 0700));
    MUST(chmod(DIRECTORY, 0777));
    child = FORK();
    if (child == 0) {
        char first[64], other[64], longer[256];
        int fd, names = 0, failed = 0;

        MUST(setresuid(USER, USER, USER));
        fd = (int)MUST(memfd_create("quota", 0));
        name_file(first, 1000001);
        MUST(symlink("target", first));
        while (take_file() == 0)
            continue;
        for (;; names++) { /* until there is too little even for a name */
            name_file(other, 2000000 + names);
            if (link(first, other) != 0)
                break;
        }
        failed |= errno != EDQUOT ? 1 : 0;
        failed |= rename(first, other) != 0 ? 2 : 0; /* as long */
        memset(longer, 'x', sizeof(longer) - 1);
        longer[sizeof(longer) - 1] = 0;
        memcpy(longer, DIRECTORY "/", sizeof(DIRECTORY));
        failed |= rename(other, longer) == 0 || errno != EDQUOT ? 4 : 0;
        failed |= shmget(IPC_PRIVATE, 4096, 0600) != -1 || errno != ENOSPC ? 8 : 0;
        while (fcntl(fd, F_SETLK, &lock) == 0)
            lock.l_start += 2;
        failed |= errno != ENOLCK ? 16 : 0;
        lock.l_start = 0;
        lock.l_type = F_RDLCK;
        failed |= fcntl(fd, F_SETLK, &lock) != 0 ? 32 : 0;
        failed |= write(fd, "x", 1) != -1 || errno != EDQUOT ? 64 : 0; /* there is too little for its table of pages */
        MUST(unlink(other));
        while (names-- > 0) {
            name_file(other, 2000000 + names);
            MUST(unlink(other));
        }
        drop_files();
        _exit(failed);
    }
    CHECK_EXITS(child, 0);
    MUST(rmdir(DIRECTORY));
}

static void test_pages(void)
{
    test(take_pages, drop_pages, EDQUOT);
}

static void test_semaphores(void)
{
    test(take_semaphores, drop_semaphores, ENOSPC);
}

static void test_messages(void)
{
    test(take_message, drop_messages, ENOMEM);
}

/* A user's pages are used up, and a hole is mapped. */
static void test_hole(void)
{
    pid_t child = FORK();

    if (child == 0) {
        char *hole;

        MUST(setresuid(USER, USER, USER));
        while (take_pages() == 0)
            continue;
        hole = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file, lseek(memory_file, 0, SEEK_END));
        if (errno != EDQUOT || hole == MAP_FAILED ||
            ftruncate(memory_file, lseek(memory_file, 0, SEEK_END) + CHUNK) != 0)
            _exit(1);
        *(volatile char *)hole = 1;
        _exit(2);
    }
    CHECK_DIES(child, SIGBUS);
}

/* A user's pages are used up by a thread with a NUMA policy: the refusal, and what it has written before it, are the
 * same as without one. */
static void test_bound(void)
{
    pid_t child = FORK();

    if (child == 0) {
        unsigned long nodes = 0, last;
        static const char bytes[CHUNK];
        struct stat now;
        long count;

        MUST(setresuid(USER, USER, USER));
        MUST(syscall(SYS_get_mempolicy, NULL, &nodes, 65, NULL, 4)); /* MPOL_F_MEMS_ALLOWED */
        last = 1ul << (63 - __builtin_clzl(nodes));
        MUST(syscall(SYS_set_mempolicy, 2, &last, 65)); /* MPOL_BIND */
        memory_file = (int)MUST(memfd_create("quota", 0));
        while ((count = write(memory_file, bytes, sizeof(bytes))) == (long)sizeof(bytes))
            continue;
        if (count >= 0 && (count % 4096 != 0 || write(memory_file, bytes, sizeof(bytes)) != -1))
            _exit(1);
        if (errno != EDQUOT)
            _exit(errno);
        MUST(fstat(memory_file, &now));
        _exit(now.st_size == 512 * now.st_blocks ? 0 : 2);
    }
    CHECK_EXITS(child, 0);
}

/* Files whose owner root changes count for the new owner at once, and not any more for the old one. */
static void test_owner(void)
{
    char name[64];
    int fd, error;
    pid_t child;

    MUST(mkdir(DIRECTORY, 0777));
    name_file(name, 0);
    fd = (int)MUST(open(name, O_CREAT | O_RDWR, 0666));
    for (;;) { /* more than a user may have */
        static const char bytes[CHUNK];
        struct stat now;

        MUST(fchown(fd, USER, USER));
        child = FORK();
        if (child == 0) {
            MUST(setresuid(USER, USER, USER));
            _exit(take_pages());
        }
        MUST(waitpid(child, &error, 0));
        error = WEXITSTATUS(error);
        MUST(fchown(fd, 0, 0));
        MUST(fstat(fd, &now));
        CHECK(error == 0 || error == EDQUOT, "%s", tap_error(error));
        if (error != 0 || write(fd, bytes, sizeof(bytes)) <= 0)
            break;
    }
    CHECK(error == EDQUOT, "the new owner is given more: %s", tap_error(error));
    child = FORK();
    if (child == 0) {
        MUST(setresuid(USER, USER, USER));
        _exit(take_pages());
    }
    CHECK_EXITS(child, 0);
    MUST(fchown(fd, OTHER, OTHER));
    MUST(close(fd));
    MUST(unlink(name));
    MUST(rmdir(DIRECTORY));
}

static const struct tap_test tests[] = {
    {"timers", "a user's timers count in RLIMIT_SIGPENDING: EAGAIN", test_timers},
    {"queues", "a user's message queues have as many bytes as RLIMIT_MSGQUEUE says: EMFILE", test_queues},
    {"watches", "a user's epoll sets have max_user_watches descriptors: ENOSPC", test_watches},
    {"files", "a user's files and names have a part of the memory: EDQUOT", test_files},
    {"full",
     "where a user has all there is, what does not grow is not refused, and what is refused says so as Linux does",
     test_full},
    {"pages", "the pages of a user's files have a part of the memory: EDQUOT", test_pages},
    {"hole", "a program that touches a page of a file which its owner may not have dies of SIGBUS", test_hole},
    {"bound", "the same for pages that a NUMA policy places: EDQUOT", test_bound},
    {"owner", "files count for whom root gives them to", test_owner},
    {"semaphores", "a user's sets of semaphores have a part of the memory: ENOSPC", test_semaphores},
    {"messages", "a user's messages of System V have a part of the memory: ENOMEM", test_messages},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
