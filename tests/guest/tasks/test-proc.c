/* test-proc: what /proc tells of processes and threads, on all kernels and from all of them. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define TEXT_MAX 65536
#define THREADS_MAX 16
#define CHILDREN 12

/* Reads the file at PATH; *LENGTH may be NULL. NULL with errno set. The next call overwrites it. */
static char *read_text(const char *path, size_t *length)
{
    static _Thread_local char text[TEXT_MAX];
    int fd = open(path, O_RDONLY);
    size_t size = 0;
    ssize_t more;

    if (fd < 0)
        return NULL;
    while ((more = read(fd, text + size, TEXT_MAX - 1 - size)) > 0)
        size += (size_t)more;
    close(fd);
    text[size] = '\0';
    if (length != NULL)
        *length = size;
    return text;
}

/* The fields of a stat file, by proc(5)'s numbers. */
struct stat_line {
    char name[64];
    char state;
    long field[53];
};

static bool read_stat(const char *path, struct stat_line *line)
{
    char *text = read_text(path, NULL);
    char *open_name = text == NULL ? NULL : strchr(text, '(');
    char *close_name = text == NULL ? NULL : strrchr(text, ')');
    char *rest;

    if (open_name == NULL || close_name == NULL)
        return false;
    *close_name = '\0';
    snprintf(line->name, sizeof(line->name), "%s", open_name + 1);
    line->field[1] = strtol(text, NULL, 10);
    line->state = close_name[2];
    rest = close_name + 3;
    for (int i = 4; i <= 52; i++) {
        char *end;

        line->field[i] = (long)strtoul(rest, &end, 10);
        if (end == rest)
            return false;
        rest = end;
    }
    return true;
}

static bool stat_of(pid_t pid, pid_t tid, struct stat_line *line)
{
    char path[64];

    if (tid == 0)
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    else
        snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    return read_stat(path, line);
}

static char state_of(pid_t pid)
{
    struct stat_line line;

    return stat_of(pid, 0, &line) ? line.state : '-';
}

/* How often NUMBER is listed in the directory PATH. */
static int listed(const char *path, int number)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    int count = 0;

    if (directory == NULL)
        return -1;
    while ((entry = readdir(directory)) != NULL)
        count += atoi(entry->d_name) == number && entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

/* Which place the CPU of a stat line belongs to. */
static int place_of_cpu(long cpu)
{
    for (int i = 0; i < place_count(); i++) {
        int first;
        int cpus = place_cpus(i, &first);

        if (cpu >= first && cpu < first + cpus)
            return i;
    }
    return -1;
}

/* --- one's own --- */

static void test_own(void)
{
    for (int i = 0; i < place_count(); i++) {
        struct stat_line line;
        char *text;

        place_go(i);
        REQUIRE(read_stat("/proc/self/stat", &line), "/proc/self/stat: %s", tap_error(errno));
        CHECK(line.field[1] == getpid(), "pid %ld", line.field[1]);
        CHECK(line.state == 'R', "state %c", line.state);
        CHECK(line.field[4] == getppid(), "ppid %ld", line.field[4]);
        CHECK(line.field[5] == getpgrp(), "pgrp %ld", line.field[5]);
        CHECK(line.field[6] == getsid(0), "session %ld", line.field[6]);
        CHECK(line.field[20] == 1, "threads %ld", line.field[20]);
        CHECK(line.field[22] > 0, "starttime %ld", line.field[22]);
        /* Linux counts some of the pages later. */
        CHECK(line.field[23] > 0 && (line.field[24] > 0 || !tap_on_kettle()) && line.field[23] >= line.field[24] * 4096,
              "vsize %ld rss %ld", line.field[23], line.field[24]);
        CHECK(line.field[38] == SIGCHLD, "exit signal %ld", line.field[38]);
        if (place_count() > 1)
            CHECK(place_of_cpu(line.field[39]) == i, "on place %d, CPU is %ld", i, line.field[39]);
        text = read_text("/proc/self/statm", NULL);
        CHECK(text != NULL && strtol(text, NULL, 10) > 0, "statm");
        text = read_text("/proc/self/status", NULL);
        CHECK(text != NULL && strstr(text, "\nThreads:\t1\n") != NULL &&
                  strstr(text, "\nState:\tR (running)\n") != NULL,
              "status");
    }
}

static void test_nice(void)
{
    struct stat_line line;

    REQUIRE(setpriority(PRIO_PROCESS, 0, 5) == 0, "setpriority: %s", tap_error(errno));
    REQUIRE(stat_of(getpid(), 0, &line), "stat");
    CHECK(line.field[18] == 25 && line.field[19] == 5, "priority %ld nice %ld", line.field[18], line.field[19]);
}

static void test_times(void)
{
    for (int i = 0; i < place_few(4); i++) {
        struct stat_line before, after;

        REQUIRE(stat_of(getpid(), 0, &before), "stat");
        place_go(i);
        for (int64_t begin = tap_time(); tap_time() - begin < INT64_C(100000000);)
            x86_pause();
        REQUIRE(stat_of(getpid(), 0, &after), "stat");
        CHECK(after.field[14] + after.field[15] > before.field[14] + before.field[15],
              "%ld + %ld ticks, then %ld + %ld", before.field[14], before.field[15], after.field[14], after.field[15]);
    }
}

static void test_maps(void)
{
    void *shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    REQUIRE(shared != MAP_FAILED, "mmap: %s", tap_error(errno));
    for (int i = 0; i < place_count(); i++) {
        bool stack = false, mine = false;
        char *text;

        place_go(i);
        text = read_text("/proc/self/maps", NULL);
        REQUIRE(text != NULL, "maps: %s", tap_error(errno));
        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            unsigned long start, end;
            char rights[5];

            REQUIRE(sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3 && start < end, "line '%s'", line);
            if ((unsigned long)&text >= start && (unsigned long)&text < end)
                stack = strcmp(rights, "rw-p") == 0 && strstr(line, "[stack]") != NULL;
            if ((unsigned long)shared >= start && (unsigned long)shared < end)
                mine = strcmp(rights, "r--s") == 0;
        }
        CHECK(stack && mine, "from place %d: stack %d, shared page %d", i, stack, mine);
    }
}

static void *thread_stack(void *unused)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    char here;

    (void)unused;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0)
        pthread_attr_getstack(&attributes, &low, &size);
    CHECK(&here >= (char *)low && &here < (char *)low + size, "stack %p, %zu bytes, here %p", low, size, (void *)&here);
    return NULL;
}

static void test_stack(void)
{
    pthread_t thread;

    thread_stack(NULL);
    REQUIRE(pthread_create(&thread, NULL, thread_stack, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
}

static void *thread_self(void *place)
{
    char text[64], wanted[64];
    struct stat_line line;
    ssize_t length;

    place_go((int)(intptr_t)place);
    snprintf(wanted, sizeof(wanted), "%d/task/%ld", (int)getpid(), syscall(SYS_gettid));
    length = readlink("/proc/thread-self", text, sizeof(text));
    CHECK(length == (ssize_t)strlen(wanted) && memcmp(text, wanted, strlen(wanted)) == 0, "thread-self is %.*s",
          (int)length, text);
    CHECK(read_stat("/proc/thread-self/stat", &line) && line.field[1] == syscall(SYS_gettid), "stat of %ld",
          line.field[1]);
    CHECK(read_stat("/proc/self/stat", &line) && line.field[1] == getpid(), "stat of %ld", line.field[1]);
    return NULL;
}

static void test_self(void)
{
    struct stat facts;

    CHECK(lstat("/proc/self", &facts) == 0 && S_ISLNK(facts.st_mode), "self is no link");
    CHECK(stat("/proc/self", &facts) == 0 && S_ISDIR(facts.st_mode), "self leads to no directory");
    CHECK(stat("/proc/self/task", &facts) == 0 && S_ISDIR(facts.st_mode), "task");
    CHECK(listed("/proc/self/task", getpid()) == 1, "main thread listed %d times", listed("/proc/self/task", getpid()));
    for (int i = 0; i < place_few(4); i++) {
        pthread_t thread;

        REQUIRE(pthread_create(&thread, NULL, thread_self, (void *)(intptr_t)i) == 0, "pthread_create");
        pthread_join(thread, NULL);
    }
}

/* --- others --- */

enum deed { RUNS, SLEEPS, STOPS, ENDS };

/* Returns when the child is at PLACE. */
static pid_t child_that(enum deed deed, int place)
{
    static atomic_int *ready;
    pid_t child;

    if (ready == NULL)
        ready = tap_share(sizeof(*ready));
    atomic_store(ready, 0);
    child = FORK();
    if (child != 0) {
        UNTIL(atomic_load(ready) != 0, "a child to arrive");
        return child;
    }
    place_go(place);
    atomic_store(ready, 1);
    switch (deed) {
    case RUNS:
        for (;;)
            x86_pause();
    case SLEEPS:
        for (;;)
            pause();
    case STOPS:
        for (;;)
            raise(SIGSTOP);
    default:
        _exit(0);
    }
}

static void test_states(void)
{
    static const char letters[] = {'R', 'S', 'T', 'Z'};

    for (int i = 0; i < place_few(4); i++) {
        for (int deed = RUNS; deed <= ENDS; deed++) {
            pid_t child = child_that((enum deed)deed, i);
            struct stat_line line;

            place_go(i + 1);
            UNTIL(state_of(child) == letters[deed], "a child to be in its state");
            for (int from = 0; from < place_few(4); from++) {
                place_go(from);
                REQUIRE(stat_of(child, 0, &line), "stat of a %c", letters[deed]);
                CHECK(line.state == letters[deed] && line.field[4] == getpid() && line.field[20] == 1,
                      "state %c ppid %ld threads %ld from place %d", line.state, line.field[4], line.field[20], from);
                REQUIRE(stat_of(child, child, &line), "stat of its thread");
                CHECK(line.state == letters[deed], "its thread is %c", line.state);
            }
            kill(child, SIGKILL);
            tap_wait(child);
        }
    }
}

static void test_gone(void)
{
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = child_that(SLEEPS, i);
        char path[64], file[80];

        snprintf(path, sizeof(path), "/proc/%d", (int)child);
        snprintf(file, sizeof(file), "/proc/%d/stat", (int)child);
        CHECK(listed("/proc", child) == 1, "child listed %d times", listed("/proc", child));
        kill(child, SIGKILL);
        UNTIL(state_of(child) == 'Z', "a killed child to end");
        CHECK(listed("/proc", child) == 1, "zombie listed %d times", listed("/proc", child));
        CHECK(read_text("/proc/self/cmdline", NULL) != NULL && read_text("/proc/self/cmdline", NULL)[0] != '\0',
              "own command line");
        tap_wait(child);
        for (int from = 0; from < place_count(); from++) {
            place_go(from);
            CHECK_ERROR(open(file, O_RDONLY), ENOENT);
            CHECK_ERROR(open(path, O_RDONLY | O_DIRECTORY), ENOENT);
            CHECK(listed("/proc", child) == 0, "still listed");
        }
    }
    CHECK_ERROR(open("/proc/0", O_RDONLY), ENOENT);
    CHECK_ERROR(open("/proc/01", O_RDONLY), ENOENT);
    CHECK_ERROR(open("/proc/self/nothing", O_RDONLY), ENOENT);
    CHECK_ERROR(open("/proc/self/stat/more", O_RDONLY), ENOTDIR);
    CHECK_ERROR(open("/proc/self/task/2147483647/stat", O_RDONLY), ENOENT);
}

/* Every kernel lists and tells the same of processes that stand still. */
static void test_same(void)
{
    pid_t children[CHILDREN];
    struct stat_line first[CHILDREN];

    for (int i = 0; i < CHILDREN; i++)
        children[i] = child_that(SLEEPS, i);
    for (int i = 0; i < CHILDREN; i++)
        UNTIL(state_of(children[i]) == 'S', "the children to sleep");
    for (int from = 0; from < place_count(); from++) {
        place_go(from);
        for (int i = 0; i < CHILDREN; i++) {
            struct stat_line line;

            CHECK(listed("/proc", children[i]) == 1, "from place %d child %d is listed %d times", from, i,
                  listed("/proc", children[i]));
            REQUIRE(stat_of(children[i], 0, &line), "stat: %s", tap_error(errno));
            if (from == 0)
                first[i] = line;
            for (int field = 4; field <= 24; field++)
                CHECK(line.field[field] == first[i].field[field], "field %d of child %d: %ld, from place 0 %ld", field,
                      i, line.field[field], first[i].field[field]);
            if (place_count() > 1)
                CHECK(place_of_cpu(line.field[39]) == i % place_count(), "child %d is on CPU %ld", i, line.field[39]);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        kill(children[i], SIGKILL);
        tap_wait(children[i]);
    }
}

/* --- threads --- */

static struct visitor {
    atomic_int tid, end;
    int place;
} visitors[THREADS_MAX];

static void *thread_visits(void *argument)
{
    struct visitor *visitor = argument;
    struct timespec step = {.tv_nsec = 1000000};
    char name[16];

    place_go(visitor->place);
    snprintf(name, sizeof(name), "visitor %d", visitor->place);
    prctl(PR_SET_NAME, name);
    atomic_store(&visitor->tid, (int)syscall(SYS_gettid));
    while (!atomic_load(&visitor->end))
        nanosleep(&step, NULL);
    return NULL;
}

static void test_threads(void)
{
    int count = place_few(THREADS_MAX);
    pthread_t threads[THREADS_MAX];
    char path[64], wanted[32];
    struct stat_line line;

    for (int i = 0; i < count; i++) {
        visitors[i].place = i;
        REQUIRE(pthread_create(&threads[i], NULL, thread_visits, &visitors[i]) == 0, "pthread_create");
        UNTIL(atomic_load(&visitors[i].tid) != 0, "a thread to arrive");
    }
    snprintf(path, sizeof(path), "/proc/%d/task", (int)getpid());
    for (int from = 0; from < place_few(8); from++) {
        place_go(from);
        for (int i = 0; i < count; i++) {
            int tid = atomic_load(&visitors[i].tid);
            char comm[96], *text;

            CHECK(listed(path, tid) == 1, "from place %d thread %d is listed %d times", from, i, listed(path, tid));
            REQUIRE(stat_of(getpid(), tid, &line), "stat: %s", tap_error(errno));
            snprintf(wanted, sizeof(wanted), "visitor %d", i);
            CHECK(strcmp(line.name, wanted) == 0, "name '%s' of thread %d", line.name, i);
            CHECK(line.field[1] == tid && line.field[20] == count + 1, "id %ld, %ld threads", line.field[1],
                  line.field[20]);
            if (place_count() > 1)
                CHECK(place_of_cpu(line.field[39]) == i, "thread %d is on CPU %ld", i, line.field[39]);
            snprintf(comm, sizeof(comm), "%s/%d/comm", path, tid);
            text = read_text(comm, NULL);
            snprintf(wanted, sizeof(wanted), "visitor %d\n", i);
            CHECK(text != NULL && strcmp(text, wanted) == 0, "comm of thread %d", i);
        }
    }
    for (int i = 0; i < count; i++) {
        atomic_store(&visitors[i].end, 1);
        pthread_join(threads[i], NULL);
    }
}

static atomic_int moving;

static void *thread_moves(void *argument)
{
    struct visitor *visitor = argument;

    atomic_store(&visitor->tid, (int)syscall(SYS_gettid));
    for (int i = visitor->place; !atomic_load(&visitor->end); i++) {
        place_go(i);
        atomic_fetch_add(&moving, 1);
    }
    return NULL;
}

/* Whoever lives all the while is in every list, once, however it moves. */
static void test_moving(void)
{
    pthread_t threads[4];
    int before;

    for (int i = 0; i < 4; i++) {
        visitors[i].place = i;
        REQUIRE(pthread_create(&threads[i], NULL, thread_moves, &visitors[i]) == 0, "pthread_create");
        UNTIL(atomic_load(&visitors[i].tid) != 0, "a thread to run");
    }
    before = atomic_load(&moving);
    for (int round = 0; round < 40; round++) {
        place_go(round);
        for (int i = 0; i < 4; i++) {
            struct stat_line line;
            int times = listed("/proc/self/task", atomic_load(&visitors[i].tid));

            CHECK(times == 1, "a moving thread is listed %d times", times);
            CHECK(stat_of(getpid(), atomic_load(&visitors[i].tid), &line), "a moving thread has no stat: %s",
                  tap_error(errno));
        }
    }
    UNTIL(atomic_load(&moving) > before, "a thread to move");
    for (int i = 0; i < 4; i++) {
        atomic_store(&visitors[i].end, 1);
        pthread_join(threads[i], NULL);
    }
}

static void test_name(void)
{
    struct stat_line line;

    prctl(PR_SET_NAME, "a (b) c");
    for (int i = 0; i < place_few(4); i++) {
        char *text;

        place_go(i);
        text = read_text("/proc/self/comm", NULL);
        CHECK(text != NULL && strcmp(text, "a (b) c\n") == 0, "comm is %s", text);
        CHECK(stat_of(getpid(), 0, &line) && strcmp(line.name, "a (b) c") == 0, "name is %s", line.name);
    }
}

/* --- programs --- */

/* @waits PLACE WORD: writes a byte to descriptor 1, goes to PLACE, and waits until it is killed. */
static int child_waits(int argc, char **argv)
{
    if (argc != 4)
        return 1;
    place_go(atoi(argv[2]));
    if (write(STDOUT_FILENO, "r", 1) != 1)
        return 1;
    for (;;)
        pause();
}

/* cmdline is what STRING of SIZE bytes holds. */
static bool shows(const char *string, size_t size)
{
    size_t length;
    const char *text = read_text("/proc/self/cmdline", &length);

    return text != NULL && length == size && memcmp(text, string, size) == 0;
}

/* @title PLACE WORD...: changes its own arguments; the status is the number of the look that saw something else, or 0.
 */
static int child_title(int argc, char **argv)
{
    char *begin = argv[0];
    size_t size = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) + 1 - begin);

    place_go(atoi(argv[2]));
    if (!shows(begin, size))
        return 1;
    begin[0] = '!';
    if (!shows(begin, size))
        return 2;
    memset(begin, 't', size); /* a title: one string, which goes on behind the arguments */
    if (!shows(begin, strlen(begin) + 1))
        return 3;
    strcpy(begin, "title");
    return shows("title", sizeof("title")) ? 0 : 4;
}

static void test_titled(void)
{
    char word[1001];

    memset(word, 'w', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    for (int i = 0; i < place_few(4); i++) {
        char number[16];
        pid_t child = FORK();

        snprintf(number, sizeof(number), "%d", i + 1);
        if (child == 0) {
            place_go(i);
            tap_exec("title", number, word);
        }
        CHECK(tap_wait(child) == 0, "place %d", i);
    }
}

static void test_executed(void)
{
    static const char *const last = "a  word";

    for (int i = 0; i < place_few(4); i++) {
        char path[64], target[4096], wanted[4200], byte, *text, number[16];
        const char *base;
        int ends[2];
        size_t length;
        ssize_t size;
        pid_t child;

        MUST(pipe(ends));
        child = FORK();
        if (child == 0) {
            place_go(i);
            dup2(ends[1], STDOUT_FILENO);
            snprintf(number, sizeof(number), "%d", i + 1);
            tap_exec("waits", number, last);
        }
        close(ends[1]);
        REQUIRE(read(ends[0], &byte, 1) == 1, "the program did not come");
        close(ends[0]);
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)child);
        size = readlink(path, target, sizeof(target) - 1);
        REQUIRE(size > 0, "readlink %s: %s", path, tap_error(errno));
        target[size] = '\0';
        base = strrchr(tap_self(), '/') != NULL ? strrchr(tap_self(), '/') + 1 : tap_self();
        CHECK(target[0] == '/' && strcmp(strrchr(target, '/') + 1, base) == 0, "exe is %s", target);
        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)child);
        text = read_text(path, &length);
        size = snprintf(wanted, sizeof(wanted), "%s%c@waits%c%d%c%s", tap_self(), 0, 0, i + 1, 0, last) + 1;
        CHECK(text != NULL && length == (size_t)size && memcmp(text, wanted, length) == 0,
              "cmdline of %zu bytes, not %zd", length, size);
        snprintf(path, sizeof(path), "/proc/%d/comm", (int)child);
        text = read_text(path, NULL);
        CHECK(text != NULL && strncmp(text, base, strlen(text) - 1) == 0 && strlen(text) > 1, "comm is %s", text);
        kill(child, SIGKILL);
        tap_wait(child);
    }
}

static void test_descriptors(void)
{
    int ends[2];
    char path[64], target[64];
    pid_t child;

    MUST(pipe(ends));
    child = child_that(SLEEPS, 1);
    for (int i = 0; i < place_few(4); i++) {
        place_go(i);
        snprintf(path, sizeof(path), "/proc/%d/fd", (int)child);
        CHECK(listed(path, ends[1]) == 1 && listed(path, 1023) == 0, "pipe listed %d times", listed(path, ends[1]));
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)child, ends[1]);
        CHECK(readlink(path, target, sizeof(target)) > 6 && memcmp(target, "pipe:[", 6) == 0, "the link of a pipe");
        CHECK_ERROR(readlink("/proc/self/fd/1000", target, sizeof(target)), ENOENT);
    }
    kill(child, SIGKILL);
    tap_wait(child);
}

static void test_limits(void)
{
    struct rlimit limit;
    struct sysinfo info;
    mode_t mask;
    pid_t child;

    CHECK(getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= 1 << 20, "stack limit %ld", (long)limit.rlim_cur);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= 256, "files limit %ld", (long)limit.rlim_cur);
    CHECK_ERROR(getrlimit(99, &limit), EINVAL);
    limit = (struct rlimit){2, 1};
    CHECK_ERROR(setrlimit(RLIMIT_NOFILE, &limit), EINVAL);
    CHECK(sysinfo(&info) == 0 && info.totalram > 0 && info.freeram <= info.totalram && info.procs > 0, "sysinfo");
    mask = umask(027);
    child = FORK();
    if (child == 0) {
        place_go(1);
        _exit(umask(mask) == 027 ? 3 : 4);
    }
    CHECK_EXITS(child, 3);
    CHECK(umask(mask) == 027, "umask was not kept");
}

static void test_kettle(void)
{
    char *text, wanted[64];

    if (!tap_on_kettle()) {
        tap_skip("no Kettle");
        return;
    }
    for (int i = 0; i < place_few(8); i++) {
        place_go(i);
        text = read_text("/proc/self/kettle", NULL);
        REQUIRE(text != NULL, "kettle: %s", tap_error(errno));
        CHECK(strncmp(text, "home ", 5) == 0, "begins '%.20s'", text);
        snprintf(wanted, sizeof(wanted), "\nthread %d kernel ", (int)getpid());
        CHECK(strstr(text, wanted) != NULL && place_of_cpu(atoi(strstr(text, " cpu ") + 5)) == i, "thread in '%s'",
              text);
    }
}

static const struct tap_test tests[] = {
    {"own", "a process's own stat, statm and status are right on every place", test_own},
    {"nice", "stat shows priority and nice value", test_nice},
    {"times", "the CPU time used on every place is in the process's stat", test_times},
    {"maps", "maps lists the stack and a shared page, with their protection", test_maps},
    {"stack", "pthread_getattr_np finds the stacks of threads", test_stack},
    {"self", "/proc/self and thread-self lead to the process and thread that asks", test_self},
    {"states", "running, sleeping, stopped and zombie children are R, S, T and Z from every place", test_states},
    {"gone", "a zombie is listed until it is waited for, and then is not", test_gone},
    {"same", "every place lists and shows the same", test_same},
    {"threads", "threads on all places are listed once each, with name and CPU", test_threads},
    {"moving", "threads that move are in every list once", test_moving},
    {"name", "the name set by prctl is shown", test_name},
    {"exec", "exe, cmdline and comm are those of the new program", test_executed},
    {"title", "cmdline shows what the program has written over its arguments, of any length", test_titled},
    {"descriptors", "fd lists the descriptors of any process", test_descriptors},
    {"limits", "limits, umask and sysinfo are consistent", test_limits},
    {"kettle", "/proc/self/kettle shows the kernel of each thread", test_kettle},
};

static const struct tap_child children[] = {{"waits", child_waits}, {"title", child_title}};

static const struct tap_program program = {
    .tests = tests, .count = TAP_COUNT(tests), .apart = true, .children = children, .child_count = TAP_COUNT(children)};

int main(int argc, char **argv)
{
    return tap_main(argc, argv, &program);
}
