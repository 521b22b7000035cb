/* test-users: users, groups and permissions (credentials(7), path_resolution(7)), from every kernel. Each test is done
 * by a child that gives up being root, in a directory of its own. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/directory.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/users.h"
#include "userland/x86.h"

void users_in_child(int (*body)(void *), void *context)
{
    CHECK(tap_fork(body, context) == 0, "the child says why");
}

int users_become(uid_t user, gid_t group)
{
    HOLDS(setgroups(0, NULL) == 0 && setresgid(group, group, group) == 0 && setresuid(user, user, user) == 0);
    return 0;
}

static int make(const char *name, mode_t mode)
{
    int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);

    HOLDS(fd >= 0 && fchmod(fd, mode) == 0 && close(fd) == 0);
    return 0;
}

static bool are(uid_t real, uid_t effective, uid_t saved)
{
    uid_t r, e, s;

    return getresuid(&r, &e, &s) == 0 && r == real && e == effective && s == saved && getuid() == real &&
           geteuid() == effective;
}

static int ids(void *context)
{
    (void)context;
    HOLDS(are(0, 0, 0));
    HOLDS(setresuid(USER, (uid_t)-1, OTHER) == 0 && are(USER, 0, OTHER));
    HOLDS(setreuid((uid_t)-1, OTHER) == 0 && are(USER, OTHER, OTHER));
    CHECK_ERROR(setuid(0), EPERM);
    CHECK_ERROR(setresuid(0, (uid_t)-1, (uid_t)-1), EPERM);
    HOLDS(setuid(USER) == 0 && are(USER, USER, OTHER));
    HOLDS(seteuid(OTHER) == 0 && are(USER, OTHER, OTHER));
    HOLDS(setreuid(OTHER, USER) == 0 && are(OTHER, USER, USER));
    CHECK_ERROR(setgid(GROUP), EPERM);
    HOLDS(setgid(0) == 0);
    CHECK_ERROR(x86_syscall1(SYS_setuid, -1) == -EINVAL ? (errno = EINVAL, -1) : 0, EINVAL);
    CHECK_ERROR(setgroups(0, NULL), EPERM);
    return 0;
}

static void test_ids(void)
{
    users_in_child(ids, NULL);
}

static int groups(void *context)
{
    gid_t some[4] = {9, 7, 8, 7}, got[4] = {0}, none = (gid_t)-1;

    (void)context;
    HOLDS(setgroups(4, some) == 0);
    HOLDS(getgroups(0, NULL) == 4 && getgroups(4, got) == 4);
    HOLDS(got[0] == 7 && got[1] == 7 && got[2] == 8 && got[3] == 9);
    CHECK_ERROR(getgroups(3, got), EINVAL);
    CHECK_ERROR(setgroups(1, &none), EINVAL);
    HOLDS(setgroups(0, NULL) == 0 && getgroups(0, NULL) == 0);
    return 0;
}

static void test_groups(void)
{
    users_in_child(groups, NULL);
}

/* A thread's users are its own, and go along. */
static void *other_thread(void *context)
{
    long *failed = context;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        if (x86_syscall0(SYS_geteuid) != USER || x86_syscall0(SYS_getuid) != 0 || access("private", R_OK) != 0 ||
            open("private", O_RDONLY) != -1 || errno != EACCES)
            (*failed)++;
    }
    return NULL;
}

static int threads(void *context)
{
    pthread_t thread;
    long failed = 0;

    (void)context;
    HOLDS(make("private", 0600) == 0);
    HOLDS(x86_syscall3(SYS_setresuid, -1, USER, -1) == 0);
    HOLDS(pthread_create(&thread, NULL, other_thread, &failed) == 0);
    HOLDS(x86_syscall3(SYS_setresuid, -1, 0, -1) == 0);
    HOLDS(pthread_join(thread, NULL) == 0 && failed == 0);
    HOLDS(geteuid() == 0 && unlink("private") == 0);
    return 0;
}

static void test_threads(void)
{
    users_in_child(threads, NULL);
}

static int open_close(const char *name, int flags)
{
    int fd = open(name, flags);

    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int permissions(void *context)
{
    const gid_t group = GROUP;
    long kernel = (long)context;
    struct stat facts;

    HOLDS(make("owner", 0400) == 0 && chown("owner", USER, GROUP) == 0);
    HOLDS(make("group", 0040) == 0 && chown("group", OTHER, GROUP) == 0);
    HOLDS(make("others", 0004) == 0);
    HOLDS(make("not-owner", 0077) == 0 && chown("not-owner", USER, GROUP) == 0);
    HOLDS(mkdir("closed", 0700) == 0 && make("closed/in", 0777) == 0);
    HOLDS(mkdir("seen", 0711) == 0 && make("seen/in", 0644) == 0);
    HOLDS(mkdir("own", 0755) == 0 && chown("own", USER, OTHER_GROUP) == 0);
    HOLDS(setgroups(1, &group) == 0 && setresgid(OTHER_GROUP, OTHER_GROUP, OTHER_GROUP) == 0 &&
          setresuid(USER, USER, USER) == 0);
    kernels_go(kernel);
    HOLDS(open_close("owner", O_RDONLY) == 0);
    CHECK_ERROR(open_close("owner", O_RDWR), EACCES);
    HOLDS(open_close("group", O_RDONLY) == 0 && open_close("others", O_RDONLY) == 0);
    CHECK_ERROR(open_close("group", O_WRONLY), EACCES);
    CHECK_ERROR(open_close("not-owner", O_RDONLY), EACCES);
    CHECK_ERROR(open_close("others", O_RDONLY | O_TRUNC), EACCES);
    CHECK_ERROR(open_close("closed/in", O_RDONLY), EACCES);
    CHECK_ERROR(stat("closed/in", &facts), EACCES);
    CHECK_ERROR(chdir("closed"), EACCES);
    HOLDS(open_close("seen/in", O_RDONLY) == 0 && open_close("seen", O_PATH) == 0);
    CHECK_ERROR(open_close("seen", O_RDONLY | O_DIRECTORY), EACCES);
    CHECK_ERROR(mkdir("new", 0700), EACCES);
    CHECK_ERROR(symlink("x", "new"), EACCES);
    CHECK_ERROR(link("owner", "new"), EACCES);
    CHECK_ERROR(unlink("owner"), EACCES);
    CHECK_ERROR(rename("owner", "new"), EACCES);
    CHECK_ERROR(rename("owner", "own/new"), EACCES);
    CHECK_ERROR(mkdir("own", 0700), EEXIST);
    HOLDS(mkdir("own/new", 0777) == 0 && stat("own/new", &facts) == 0);
    HOLDS(facts.st_uid == USER && facts.st_gid == OTHER_GROUP);
    HOLDS(rename("own/new", "own/newer") == 0 && rmdir("own/newer") == 0);
    CHECK_ERROR(mknod("own/node", S_IFCHR | 0600, makedev(1, 3)), EPERM);
    HOLDS(mknod("own/fifo", S_IFIFO | 0600, 0) == 0 && unlink("own/fifo") == 0);
    CHECK_ERROR(truncate("others", 0), EACCES);
    CHECK_ERROR(access("others", W_OK), EACCES);
    HOLDS(access("others", R_OK) == 0);
    CHECK_ERROR(execl("others", "others", NULL), EACCES);
    return 0;
}

static int clean(void *context)
{
    (void)context;
    HOLDS(unlink("owner") == 0 && unlink("group") == 0 && unlink("others") == 0 && unlink("not-owner") == 0);
    HOLDS(unlink("closed/in") == 0 && rmdir("closed") == 0 && unlink("seen/in") == 0 && rmdir("seen") == 0);
    HOLDS(rmdir("own") == 0);
    return 0;
}

static void test_permissions(void)
{
    for (long k = 0; k < kernels_count(); k++) {
        users_in_child(permissions, (void *)k);
        users_in_child(clean, NULL);
    }
}

int users_copy_self(const char *name)
{
    char bytes[16384];
    int from = open("/proc/self/exe", O_RDONLY), to = open(name, O_CREAT | O_WRONLY, 0700);
    ssize_t count;

    HOLDS(from >= 0 && to >= 0);
    while ((count = read(from, bytes, sizeof(bytes))) > 0)
        HOLDS(write(to, bytes, (size_t)count) == count);
    HOLDS(close(from) == 0 && close(to) == 0);
    return 0;
}

static int changes(void *context)
{
    const gid_t group = GROUP;
    struct timespec times[2] = {{1, 0}, {1, 0}};
    struct stat facts;
    int fd, program = -1;

    HOLDS(make("own", 0644) == 0 && chown("own", USER, OTHER_GROUP) == 0);
    HOLDS(users_copy_self("roots-program") == 0 && (program = open("roots-program", O_RDONLY)) >= 0);
    HOLDS(unlink("roots-program") == 0);
    HOLDS(make("roots", 0666) == 0 && make("program", 06755) == 0);
    fd = open("roots", O_RDWR);
    HOLDS(fd >= 0 && setgroups(1, &group) == 0 && setresgid(group, group, group) == 0 &&
          setresuid(USER, USER, USER) == 0);
    kernels_go((long)context);
    CHECK_ERROR(chmod("roots", 0644), EPERM);
    CHECK_ERROR(fchmod(fd, 0644), EPERM);
    CHECK_ERROR(fexecve(program, (char *[]){NULL}, (char *[]){NULL}), EACCES);
    CHECK_ERROR(linkat(fd, "", AT_FDCWD, "linked", AT_EMPTY_PATH), ENOENT);
    HOLDS(close(fd) == 0 && (fd = memfd_create("own", 0)) >= 0 && fchmod(fd, 0640) == 0);
    HOLDS(fstat(fd, &facts) == 0 && facts.st_uid == USER && facts.st_gid == GROUP && close(fd) == 0);
    HOLDS((fd = open("roots", O_RDWR)) >= 0);
    CHECK_ERROR(fchown(fd, USER, (gid_t)-1), EPERM);
    HOLDS(fchown(fd, (uid_t)-1, (gid_t)-1) == 0);
    CHECK_ERROR(chown("program", (uid_t)-1, (gid_t)-1), EPERM); /* it would be set-user-ID no more */
    HOLDS(stat("program", &facts) == 0 && (facts.st_mode & 07777) == 06755);
    CHECK_ERROR(utimensat(AT_FDCWD, "roots", times, 0), EPERM);
    HOLDS(utimensat(AT_FDCWD, "roots", NULL, 0) == 0);
    HOLDS(chmod("own", 02755) == 0 && stat("own", &facts) == 0 && (facts.st_mode & 07777) == 0755);
    CHECK_ERROR(chown("own", OTHER, (gid_t)-1), EPERM);
    CHECK_ERROR(chown("own", (uid_t)-1, 5), EPERM);
    HOLDS(chown("own", USER, GROUP) == 0 && chmod("own", 06755) == 0);
    HOLDS(stat("own", &facts) == 0 && (facts.st_mode & 07777) == 06755 && facts.st_gid == GROUP);
    HOLDS(chown("own", (uid_t)-1, GROUP) == 0 && stat("own", &facts) == 0 && (facts.st_mode & 07777) == 0755);
    return 0;
}

static void test_changes(void)
{
    for (long k = 0; k < kernels_count(); k++) {
        users_in_child(changes, (void *)k);
        CHECK(unlink("own") == 0 && unlink("roots") == 0 && unlink("program") == 0, "%s", strerror(errno));
    }
}

static int sticky(void *context)
{
    (void)context;
    HOLDS(users_become(OTHER, GROUP) == 0);
    CHECK_ERROR(unlink("sticky/theirs"), EPERM);
    CHECK_ERROR(rename("sticky/theirs", "sticky/x"), EPERM);
    HOLDS(make("sticky/ours", 0600) == 0);
    CHECK_ERROR(rename("sticky/ours", "sticky/theirs"), EPERM);
    HOLDS(unlink("sticky/ours") == 0);
    return 0;
}

static int inherits(void *context)
{
    struct stat facts;
    int fd;

    (void)context;
    HOLDS(users_become(USER, GROUP) == 0);
    HOLDS(mkdir("grouped/sub", 0755) == 0 && stat("grouped/sub", &facts) == 0);
    HOLDS(facts.st_gid == OTHER_GROUP && (facts.st_mode & S_ISGID) != 0 && facts.st_uid == USER);
    HOLDS(make("grouped/sub/file", 0644) == 0 && stat("grouped/sub/file", &facts) == 0);
    HOLDS(facts.st_gid == OTHER_GROUP && (facts.st_mode & S_ISGID) == 0);
    fd = open("grouped/sub/program", O_CREAT | O_EXCL | O_WRONLY, 02755); /* of a group that its maker is not in */
    HOLDS(fd >= 0 && fstat(fd, &facts) == 0 && close(fd) == 0);
    HOLDS(facts.st_gid == OTHER_GROUP && (facts.st_mode & 07777) == 0755);
    HOLDS(mknod("grouped/sub/other", S_IFREG | 02755, 0) == 0 && stat("grouped/sub/other", &facts) == 0);
    HOLDS(facts.st_gid == OTHER_GROUP && (facts.st_mode & 07777) == 0755);
    return unlink("grouped/sub/program") == 0 && unlink("grouped/sub/other") == 0 ? 0 : 1;
}

static void test_directories(void)
{
    CHECK(mkdir("sticky", 0777) == 0 && chmod("sticky", 01777) == 0, "%s", strerror(errno));
    CHECK(make("sticky/theirs", 0666) == 0 && chown("sticky/theirs", USER, GROUP) == 0, "%s", strerror(errno));
    users_in_child(sticky, NULL);
    CHECK(unlink("sticky/theirs") == 0 && rmdir("sticky") == 0, "%s", strerror(errno));
    CHECK(mkdir("grouped", 0777) == 0 && chown("grouped", 0, OTHER_GROUP) == 0 && chmod("grouped", 02777) == 0, "%s",
          strerror(errno));
    users_in_child(inherits, NULL);
    CHECK(unlink("grouped/sub/file") == 0 && rmdir("grouped/sub") == 0 && rmdir("grouped") == 0, "%s", strerror(errno));
}

/* access(2) asks for the real user, opening for that of files. */
static int accessing(void *context)
{
    (void)context;
    HOLDS(make("secret", 0600) == 0);
    HOLDS(setresuid(USER, 0, 0) == 0);
    CHECK_ERROR(access("secret", R_OK), EACCES);
    HOLDS(faccessat(AT_FDCWD, "secret", R_OK, AT_EACCESS) == 0);
    HOLDS(open_close("secret", O_RDONLY) == 0);
    HOLDS(setfsuid(USER) == 0 && setfsuid((uid_t)-1) == USER);
    CHECK_ERROR(open_close("secret", O_RDONLY), EACCES);
    HOLDS(setfsuid(0) == USER && open_close("secret", O_RDONLY) == 0);
    HOLDS(unlink("secret") == 0);
    return 0;
}

static void test_access(void)
{
    users_in_child(accessing, NULL);
}

static int print_ids(void)
{
    printf("%d %d %d %d %ld\n", (int)getuid(), (int)geteuid(), (int)getgid(), (int)getegid(),
           (long)getauxval(AT_SECURE));
    fflush(stdout);
    return getauxval(AT_UID) == getuid() && getauxval(AT_EUID) == geteuid() ? 0 : 1;
}

struct runs {
    mode_t mode;
    const char *says;
    bool no_more; /* it has said that it wants no other user's rights */
};

static int runs(void *context)
{
    const struct runs *want = context;
    char text[64] = "";
    int ends[2], status;
    pid_t child;

    HOLDS(chown("program", OTHER, OTHER_GROUP) == 0 && chmod("program", want->mode) == 0);
    HOLDS(pipe(ends) == 0 && users_become(USER, GROUP) == 0);
    child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        if (want->no_more && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
            _exit(8);
        execl("program", "program", "ids", NULL);
        _exit(9);
    }
    HOLDS(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    HOLDS(read(ends[0], text, sizeof(text) - 1) > 0);
    if (strcmp(text, want->says) != 0)
        printf("# it says '%s', not '%s'\n", text, want->says);
    HOLDS(strcmp(text, want->says) == 0);
    return 0;
}

static void test_exec(void)
{
    static struct runs want[] = {{0755, "1000 1000 100 100 0\n", false},  {04755, "1000 1001 100 100 1\n", false},
                                 {02755, "1000 1000 100 101 1\n", false}, {02745, "1000 1000 100 100 0\n", false},
                                 {06755, "1000 1001 100 101 1\n", false}, {06755, "1000 1000 100 100 0\n", true}};

    CHECK(users_copy_self("program") == 0, "a copy");
    for (size_t i = 0; i < TAP_COUNT(want); i++)
        users_in_child(runs, &want[i]);
    CHECK(unlink("program") == 0, "%s", strerror(errno));
}

pid_t users_sleeper(long number, uid_t user)
{
    int ends[2];
    char byte;
    pid_t child;

    if (pipe(ends) != 0)
        return -1;
    child = fork();
    if (child == 0) {
        kernels_go(number);
        if (setpgid(0, 0) != 0 || setresuid(user, user, user) != 0 || write(ends[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    if (read(ends[0], &byte, 1) != 1)
        return -1;
    close(ends[0]);
    close(ends[1]);
    return child;
}

static int kills(void *context)
{
    const pid_t *ids = context;

    HOLDS(setresuid(USER, USER, USER) == 0);
    CHECK_ERROR(kill(ids[0], SIGTERM), EPERM);
    CHECK_ERROR(kill(ids[0], 0), EPERM);
    CHECK_ERROR(kill(-ids[0], SIGTERM), EPERM);
    CHECK_ERROR(kill(1, 0), EPERM);
    CHECK_ERROR((long)syscall(SYS_tkill, ids[0], SIGTERM), EPERM);
    CHECK_ERROR((long)syscall(SYS_tgkill, ids[0], ids[0], SIGTERM), EPERM);
    HOLDS(kill(ids[0], SIGCONT) == 0); /* of the same session */
    HOLDS(kill(ids[1], 0) == 0 && kill(-ids[1], 0) == 0 && syscall(SYS_tkill, ids[1], SIGTERM) == 0);
    return 0;
}

static void test_kill(void)
{
    for (long k = 0; k < kernels_count(); k++) {
        pid_t children[2] = {users_sleeper(k, OTHER), users_sleeper(k, USER)};
        int status;

        CHECK(children[0] > 0 && children[1] > 0, "%s", strerror(errno));
        users_in_child(kills, children);
        CHECK(waitpid(children[1], &status, 0) == children[1] && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM,
              "status %x", status);
        CHECK(waitpid(children[0], &status, WNOHANG) == 0, "it lives");
        kill(children[0], SIGKILL);
        waitpid(children[0], &status, 0);
    }
}

static int schedules(void *context)
{
    const pid_t *ids = context;
    struct sched_param none = {.sched_priority = 0}, real = {.sched_priority = 5};
    struct {
        unsigned size, policy;
        unsigned long long flags;
        int nice;
        unsigned priority;
        unsigned long long rest[3];
    } attr = {.size = 48};
    unsigned long cpus[16];
    long size = syscall(SYS_sched_getaffinity, 0, sizeof(cpus), cpus);

    HOLDS(size > 0 && setresuid(OTHER, USER, USER) == 0);
    CHECK_ERROR(syscall(SYS_sched_setscheduler, ids[0], SCHED_BATCH, &none), EPERM);
    CHECK_ERROR(syscall(SYS_sched_setscheduler, ids[0], 77, &none), EINVAL);
    CHECK_ERROR(syscall(SYS_sched_setparam, ids[0], &none), EPERM);
    CHECK_ERROR(syscall(SYS_sched_setattr, ids[0], &attr, 0), EPERM);
    CHECK_ERROR(syscall(SYS_sched_setaffinity, ids[0], size, cpus), EPERM);
    CHECK_ERROR(setpriority(PRIO_PROCESS, (id_t)ids[0], 5), EPERM);
    CHECK_ERROR(syscall(SYS_sched_setscheduler, ids[1], SCHED_FIFO, &real), EPERM);
    CHECK_ERROR(syscall(SYS_sched_setscheduler, 0, SCHED_RR, &real), EPERM);
    CHECK_ERROR(setpriority(PRIO_PROCESS, (id_t)ids[1], -1), EACCES);
    HOLDS(setpriority(PRIO_PROCESS, (id_t)ids[1], 5) == 0 && setpriority(PRIO_PROCESS, (id_t)ids[1], 5) == 0);
    CHECK_ERROR(setpriority(PRIO_PROCESS, (id_t)ids[1], 4), EACCES);
    attr.nice = 4;
    CHECK_ERROR(syscall(SYS_sched_setattr, ids[1], &attr, 0), EPERM);
    attr.nice = 6;
    attr.flags = 1; /* SCHED_FLAG_RESET_ON_FORK */
    HOLDS(syscall(SYS_sched_setattr, ids[1], &attr, 0) == 0);
    CHECK_ERROR(syscall(SYS_sched_setscheduler, ids[1], SCHED_BATCH, &none), EPERM); /* it would be reset no more */
    HOLDS(syscall(SYS_sched_setscheduler, ids[1], SCHED_BATCH | 0x40000000, &none) == 0);
    HOLDS(syscall(SYS_sched_setaffinity, ids[1], size, cpus) == 0);
    HOLDS(syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &none) == 0 &&
          syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &none) == 0);
    CHECK_ERROR(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none), EPERM);
    return 0;
}

static void test_schedule(void)
{
    struct sched_param real = {.sched_priority = 5}, none = {.sched_priority = 0};

    for (long k = 0; k < kernels_count(); k++) {
        pid_t children[2] = {users_sleeper(k, OTHER), users_sleeper(k, USER)};

        CHECK(children[0] > 0 && children[1] > 0, "%s", strerror(errno));
        users_in_child(schedules, children);
        CHECK(syscall(SYS_sched_setscheduler, children[1], SCHED_FIFO, &real) == 0 &&
                  syscall(SYS_sched_setscheduler, children[1], SCHED_OTHER, &none) == 0 &&
                  setpriority(PRIO_PROCESS, (id_t)children[1], -3) == 0,
              "root may: %s", strerror(errno));
        for (int i = 0; i < 2; i++)
            CHECK(kill(children[i], SIGKILL) == 0 && waitpid(children[i], NULL, 0) == children[i], "%s",
                  strerror(errno));
    }
}

/* The limits that count are those of the process that is scheduled: CONTEXT's, of which the caller's are none. */
static int schedules_within(void *context)
{
    pid_t id = *(const pid_t *)context;
    struct sched_param none = {.sched_priority = 0}, some = {.sched_priority = 3}, more = {.sched_priority = 4};

    HOLDS(users_become(USER, GROUP) == 0 && setpriority(PRIO_PROCESS, (id_t)id, -5) == 0);
    CHECK_ERROR(setpriority(PRIO_PROCESS, (id_t)id, -6), EACCES);
    CHECK_ERROR(setpriority(PRIO_PROCESS, 0, -1), EACCES);
    HOLDS(setpriority(PRIO_PROCESS, (id_t)id, 10) == 0 && setpriority(PRIO_PROCESS, (id_t)id, 0) == 0);
    HOLDS(syscall(SYS_sched_setscheduler, id, SCHED_IDLE, &none) == 0 &&
          syscall(SYS_sched_setscheduler, id, SCHED_OTHER, &none) == 0);
    CHECK_ERROR(syscall(SYS_sched_setscheduler, id, SCHED_FIFO, &more), EPERM);
    HOLDS(syscall(SYS_sched_setscheduler, id, SCHED_FIFO, &some) == 0);
    CHECK_ERROR(syscall(SYS_sched_setparam, id, &more), EPERM);
    CHECK_ERROR(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &some), EPERM);
    HOLDS(syscall(SYS_sched_setscheduler, id, SCHED_RR, &some) == 0);
    HOLDS(syscall(SYS_sched_setscheduler, id, SCHED_OTHER, &none) == 0);
    return 0;
}

static void test_limits(void)
{
    for (long k = 0; k < kernels_count(); k++) {
        const struct rlimit nice = {25, 25}, real = {3, 3};
        pid_t child = users_sleeper(k, USER);

        CHECK(child > 0 && prlimit(child, RLIMIT_NICE, &nice, NULL) == 0 &&
                  prlimit(child, RLIMIT_RTPRIO, &real, NULL) == 0,
              "%s", strerror(errno));
        users_in_child(schedules_within, &child);
        CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child, "%s", strerror(errno));
    }
}

/* Kettle's own calls on other processes. */
static int looks_after(void *context)
{
    const pid_t *ids = context;
    char text[4096];

    HOLDS(setresgid(0, 0, 0) == 0 && setresuid(USER, USER, USER) == 0);
    CHECK_ERROR(kettle_audit(ids[0], text, sizeof(text)), EPERM);
    CHECK_ERROR(kettle_retrieve(ids[0], "members"), EPERM);
    CHECK_ERROR(kettle_audit(-1, text, sizeof(text)), EPERM);
    CHECK_ERROR(kettle_retrieve(ids[0], "none"), EPERM);
    HOLDS(kettle_audit(ids[1], text, sizeof(text)) == 0 && kettle_audit(0, text, sizeof(text)) == 0);
    HOLDS(kettle_retrieve(ids[1], "members") == 0 && kettle_retrieve(getpid(), "home") == 0);
    return 0;
}

static void test_look_after(void)
{
    if (!tap_on_kettle()) {
        tap_skip("they are Kettle's");
        return;
    }
    for (long k = 0; k < kernels_count(); k++) {
        pid_t children[2] = {users_sleeper(k, OTHER), users_sleeper(k, USER)};

        CHECK(children[0] > 0 && children[1] > 0, "%s", strerror(errno));
        users_in_child(looks_after, children);
        for (int i = 0; i < 2; i++)
            CHECK(kill(children[i], SIGKILL) == 0 && waitpid(children[i], NULL, 0) == children[i], "%s",
                  strerror(errno));
    }
}

static bool peer_is(int fd, pid_t pid, uid_t uid, gid_t gid)
{
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == pid && peer.uid == uid &&
        peer.gid == gid)
        return true;
    printf("# process %d, user %u, group %u\n", peer.pid, peer.uid, peer.gid);
    return false;
}

static int talks(void *context)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), pair[2], fd, status;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 6);
    pid_t self = getpid(), child;

    memcpy(name.sun_path, "\0users", 6);
    HOLDS(peer_is(listener, 0, (uid_t)-1, (gid_t)-1));
    HOLDS(bind(listener, (struct sockaddr *)&name, size) == 0 && setresgid(1, GROUP, GROUP) == 0 &&
          setresuid(OTHER, USER, 0) == 0);
    kernels_go((long)context + 1);
    HOLDS(listen(listener, 5) == 0 && peer_is(listener, self, USER, GROUP));
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && peer_is(pair[0], self, USER, GROUP) &&
          peer_is(pair[1], self, USER, GROUP));
    HOLDS(seteuid(0) == 0 && peer_is(pair[1], self, USER, GROUP));
    child = fork();
    if (child == 0) {
        kernels_go((long)context + 2);
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (users_become(OTHER, OTHER_GROUP) != 0 || connect(fd, (struct sockaddr *)&name, size) != 0)
            _exit(1);
        _exit(peer_is(fd, self, USER, GROUP) && peer_is(pair[0], self, USER, GROUP) ? 0 : 2);
    }
    fd = accept(listener, NULL, NULL);
    HOLDS(fd >= 0 && peer_is(fd, child, OTHER, OTHER_GROUP));
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}

static void test_peers(void)
{
    for (long k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        users_in_child(talks, (void *)k);
    }
}

/* A program that is open runs, though no name leads to it any more. */
static int runs_open(void *context)
{
    static char *argv[] = {"test-users", "run", NULL}, *envp[] = {NULL};
    int fd = open("/proc/self/exe", O_RDONLY);

    kernels_go((long)context);
    HOLDS(fd >= 0 && chroot(directory_path) == 0 && chdir("/") == 0);
    CHECK_ERROR(open("/proc/self/exe", O_RDONLY), ENOENT);
    for (int directory = -1; directory > -300; directory--) /* no number is a way out */
        CHECK_ERROR(openat(directory, "/proc/self/exe", O_RDONLY), ENOENT);
    CHECK_ERROR(openat(INT_MIN, "/proc/self/exe", O_RDONLY), ENOENT);
    CHECK_ERROR(syscall(SYS_execveat, fd + 1, "", argv, envp, AT_EMPTY_PATH), EBADF);
    syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
    HOLDS(false);
    return 0;
}

static void test_open_program(void)
{
    for (long k = 0; k < kernels_count(); k++)
        CHECK(tap_fork(runs_open, (void *)k) == 42, "the program has not run");
}

static const struct tap_test tests[] = {
    {"ids", "user ids are set as setresuid(2) and related calls say", test_ids},
    {"groups", "supplementary groups are kept in order", test_groups},
    {"threads", "user ids belong to the thread on every kernel", test_threads},
    {"permissions", "permissions hold for names, from every kernel", test_permissions},
    {"changes", "only owners change permissions, owners and times", test_changes},
    {"directories", "sticky directories protect names, and setgid directories give their group", test_directories},
    {"access", "access checks the real user, and open the file system user", test_access},
    {"exec", "a program with setuid or setgid runs as its owner or group, and AT_SECURE says so", test_exec},
    {"kill", "a user signals only processes of the same user, on every kernel", test_kill},
    {"reach", "a user cannot reach into processes of others", users_test_reach},
    {"memory", "reads and writes of a process's memory never reach the program that it executes next",
     users_test_memory},
    {"take", "descriptors taken from a process are never those of the program that it executes next", users_test_take},
    {"schedule", "a user does not schedule threads of others, nor gain CPU time", test_schedule},
    {"limits", "a user may raise priorities as far as RLIMIT_NICE and RLIMIT_RTPRIO allow", test_limits},
    {"look-after", "only root and the owner audit a process and change its retrieval strategy", test_look_after},
    {"peers", "SO_PEERCRED gives the peer's process, user and group", test_peers},
    {"open-program", "a program that is open can be executed in another root", test_open_program},
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "ids") == 0)
        return print_ids();
    if (argc == 2 && strcmp(argv[1], "memory") == 0)
        return users_print_memory();
    if (argc == 2 && strcmp(argv[1], "run") == 0)
        return 42;
    if (argc == 2 && strcmp(argv[1], "victim") == 0)
        return users_print_victim();
    if (argc == 2 && strcmp(argv[1], "secret") == 0)
        return users_print_secret();
    kernels_find();
    umask(0);
    return directory_run(argc, argv, tests, TAP_COUNT(tests), 0755);
}
