/* test-names: names that many change at once, programs and scripts that were written, and that nothing of it stays. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define RENAME_NOREPLACE 1
#define SHARED_NAMES 12
#define STEPS 400
#define CREW 8

static char base[64], self[80];

static long path_call(long number, const char *path, long b, long c)
{
    return x86_syscall3(number, (long)path, b, c);
}

/* --- one directory, changed by threads on all kernels --- */

struct crew {
    struct thread threads[CREW];
    long made[CREW], removed[CREW], renamed[CREW]; /* names, each by one thread */
    long wrong[CREW];                              /* line of the first thing that must not be, or 0 */
    bool directories;                              /* directories, below two parents */
};

static struct crew crew;

/* Name I of the shared ones; those of directories are in two parents. */
static void name_of(char *name, uint64_t i, bool directories)
{
    const char *parent = !directories ? "" : i % 2 == 0 ? "even/" : "odd/";
    size_t length = strlen(parent);

    memcpy(name, parent, length);
    name[length] = 's';
    name[length + 1] = (char)('a' + i % SHARED_NAMES);
    name[length + 2] = '\0';
}

static void change_names(struct thread *thread)
{
    struct crew *c = thread->argument;
    int me = thread->index;
    uint64_t seed = (uint64_t)me + 1;

    for (int step = 0; step < STEPS && c->wrong[me] == 0; step++) {
        char one[16], other[16];
        uint64_t what = tap_random(&seed) % 4;
        long result;

        if (step % 20 == 0)
            kernels_go((int)(tap_random(&seed) % 64));
        name_of(one, tap_random(&seed) >> 8, c->directories);
        name_of(other, tap_random(&seed) >> 8, c->directories);
        if (what == 0) {
            result = c->directories ? path_call(SYS_mkdir, one, 0755, 0)
                                    : path_call(SYS_open, one, O_CREAT | O_EXCL | O_WRONLY, 0600);
            if (result >= 0 && !c->directories)
                x86_syscall1(SYS_close, result);
            c->made[me] += result >= 0;
            if (result < 0 && result != -EEXIST)
                c->wrong[me] = __LINE__;
        } else if (what == 1) {
            result = path_call(c->directories ? SYS_rmdir : SYS_unlink, one, 0, 0);
            c->removed[me] += result == 0;
            if (result < 0 && result != -ENOENT)
                c->wrong[me] = __LINE__;
        } else if (what == 2) {
            result = x86_syscall(SYS_renameat2, AT_FDCWD, (long)one, AT_FDCWD, (long)other, RENAME_NOREPLACE, 0);
            c->renamed[me] += result == 0;
            if (result < 0 && result != -ENOENT && result != -EEXIST)
                c->wrong[me] = __LINE__;
        } else {
            struct stat facts;

            result = path_call(SYS_lstat, one, (long)&facts, 0);
            /* Linux may show what is being removed */
            if (result == 0 ? facts.st_nlink > (c->directories ? 2u : 1u) : result != -ENOENT)
                c->wrong[me] = __LINE__;
        }
    }
}

/* Counts what getdents64 lists besides "." and "..", each of which can be found. */
static long list(const char *path)
{
    char entries[2048];
    long count = 0, size;
    int fd = open(path, O_RDONLY | O_DIRECTORY);

    CHECK(fd >= 0, "%s", strerror(errno));
    while ((size = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < size; at += *(unsigned short *)(entries + at + 16)) {
            const char *name = entries + at + 19;
            struct stat facts;

            if (*name == '.')
                continue;
            count++;
            CHECK(fstatat(fd, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
                      facts.st_ino == *(uint64_t *)(void *)(entries + at),
                  "%s", name);
        }
    }
    close(fd);
    return count;
}

static void run_crew(bool directories)
{
    long made = 0, removed = 0, renamed = 0;

    memset(&crew, 0, sizeof(crew));
    crew.directories = directories;
    for (int i = 0; i < CREW; i++) {
        crew.threads[i] = (struct thread){.index = i, .argument = &crew};
        CHECK(thread_start(&crew.threads[i], change_names), "%s", strerror(errno));
    }
    for (int i = 0; i < CREW; i++) {
        CHECK(thread_join(&crew.threads[i]), "thread %d", i);
        CHECK(crew.wrong[i] == 0, "thread %d: line %ld", i, crew.wrong[i]);
        made += crew.made[i];
        removed += crew.removed[i];
        renamed += crew.renamed[i];
    }
    CHECK(made > 0 && removed > 0 && renamed > 0, "%ld made, %ld removed, %ld renamed", made, removed, renamed);
    kernels_go(1);
    if (!directories) {
        CHECK(list(".") == made - removed, "%ld are there of %ld - %ld", list("."), made, removed);
        return;
    }
    for (int i = 0; i < 2; i++) {
        const char *parent = i == 0 ? "even" : "odd";
        struct stat facts;
        long count = list(parent);

        made -= count;
        CHECK(stat(parent, &facts) == 0 && (long)facts.st_nlink == 2 + count, "%s has %lu links, and %ld directories",
              parent, (unsigned long)facts.st_nlink, count);
    }
    CHECK(made == removed, "%ld too many", made - removed);
}

static void clear(void)
{
    char name[16];

    for (uint64_t i = 0; i < 2 * SHARED_NAMES; i++) {
        name_of(name, i, false);
        unlink(name);
        for (uint64_t odd = 0; odd < 2; odd++) {
            snprintf(name, sizeof(name), "%s/s%c", odd == 0 ? "even" : "odd", (char)('a' + i % SHARED_NAMES));
            rmdir(name);
        }
    }
    rmdir("even");
    rmdir("odd");
}

static void test_files(void)
{
    for (int round = 0; round < 3; round++) {
        run_crew(false);
        clear();
    }
}

static void test_directories(void)
{
    for (int round = 0; round < 3; round++) {
        CHECK(mkdir("even", 0755) == 0 && mkdir("odd", 0755) == 0, "%s", strerror(errno));
        run_crew(true);
        clear();
    }
}

/* --- programs that were written --- */

static bool write_file(const char *path, const char *text, size_t size, int mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool whole = fd >= 0 && write(fd, text, size) == (ssize_t)size && fchmod(fd, (mode_t)mode) == 0;

    return close(fd) == 0 && whole;
}

static bool write_script(const char *path, const char *line)
{
    char text[512];

    snprintf(text, sizeof(text), line, self);
    return write_file(path, text, strlen(text), 0755);
}

static bool copy_program(const char *to)
{
    static char bytes[1 << 16];
    int from = open("/proc/self/exe", O_RDONLY);
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    ssize_t count;
    bool whole = true;

    while ((count = read(from, bytes, sizeof(bytes))) > 0)
        whole = whole && write(fd, bytes, (size_t)count) == count;
    close(from);
    return close(fd) == 0 && whole && count == 0;
}

/* The status of PATH, run on the Kth kernel; 1000 and the errno if it cannot be run. */
static int run(int k, const char *path, const char *first)
{
    char *argv[] = {"name", (char *)(uintptr_t)first, "last", NULL};
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        kernels_go(k);
        execv(path, argv);
        _exit(100 + (errno & 127));
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A copy of this program that has no name any more, run on the Kth kernel. */
static int run_open(int k)
{
    char *argv[] = {"name", "exit-9", NULL};
    int status = 0, fd;
    pid_t child;

    CHECK(copy_program("gone"), "%s", strerror(errno));
    fd = open("gone", O_RDONLY);
    unlink("gone");
    child = fork();
    if (child == 0) {
        kernels_go(k);
        syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
        _exit(100 + (errno & 127));
    }
    close(fd);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_programs(void)
{
    char text[128];

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(copy_program("program"), "%s", strerror(errno));
        for (int j = 0; j < kernels_count(); j++)
            CHECK(run(j, "program", "exit-9") == 9, "a copy");
        CHECK(write_script("program", "#!%s exit-3\n"), "%s", strerror(errno));
        for (int j = 0; j < kernels_count(); j++)
            CHECK(run(j, "./program", "exit-9") == 3, "a script in its place");
        CHECK(write_script("program", "#!%s exit-4\n"), "%s", strerror(errno));
        for (int j = 0; j < kernels_count(); j++)
            CHECK(run(j, "program", "x") == 4, "another script in its place");
        CHECK(unlink("program") == 0 && run(k, "program", "x") == 100 + ENOENT, "what is gone");
    }
    kernels_go(0);
    snprintf(text, sizeof(text), "%s/program", base);
    CHECK(copy_program(text) && chmod(text, 0644) == 0 && run(1, text, "x") == 100 + EACCES, "not executable");
    CHECK(run(1, base, "x") == 100 + EACCES, "a directory");
    CHECK(run(1, "program/x", "x") == 100 + ENOTDIR, "below a file");
    unlink(text);
    CHECK(run_open(1) == 9 && run_open(kernels_count() - 1) == 9, "a program without a name");
}

static void test_scripts(void)
{
    char text[300], name[16], line[32];

    for (int k = 0; k < 2; k++) {
        CHECK(write_script("s", "#! %s \n") && run(k, "s", "exit-9") == 109, "no argument: the name comes first");
        CHECK(write_script("s", "#!%s count   \nexit 1\n") && run(k, "s", "x") == 5, "arguments: %d", run(k, "s", "x"));
        CHECK(write_script("s", "#!  %s\tcount two words \t\n") && run(k, "s", "x") == 15, "one argument of two words");
        CHECK(write_script("s", "#!%s exit-6") && run(k, "s", "x") == 6, "no line's end");
        CHECK(write_script("s", "#!\n") && run(k, "s", "x") == 100 + ENOEXEC, "no name");
        CHECK(write_script("s", "#!   \n%s") && run(k, "s", "x") == 100 + ENOEXEC, "blanks");
        CHECK(write_script("s", "#!/none/there\n") && run(k, "s", "x") == 100 + ENOENT, "an absent one");
        CHECK(write_script("s", "#!/\n") && run(k, "s", "x") == 100 + EACCES, "a directory");
        CHECK(write_script("s", "exit 5\n") && run(k, "s", "x") == 100 + ENOEXEC, "no script");
        CHECK(write_file("s", "", 0, 0755) && run(k, "s", "x") == 100 + ENOEXEC, "an empty file");
    }
    CHECK(write_script("s0", "#!%s exit-8\n"), "%s", strerror(errno));
    for (int i = 1; i < 7; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        snprintf(line, sizeof(line), "#!s%d\n", i - 1);
        CHECK(write_file(name, line, strlen(line), 0755), "%s", strerror(errno));
    }
    CHECK(run(1, "s4", "x") == 8, "a script that a script runs: %d", run(1, "s4", "x"));
    CHECK(run(1, "s6", "x") == 100 + ELOOP, "too many of them: %d", run(1, "s6", "x"));
    memset(text, 'x', sizeof(text));
    memcpy(text, "#!/", 3);
    CHECK(write_file("s", text, sizeof(text), 0755) && run(0, "s", "x") == 100 + ENOEXEC, "a long line: %d",
          run(0, "s", "x"));
    unlink("s");
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        unlink(name);
    }
}

/* --- what stays --- */

/* The sum of what all kernels say after WORD in /proc/kettle/objects. */
static long objects(const char *word)
{
    char text[16384] = "";
    size_t used = 0;
    ssize_t count;
    long sum = 0;
    int fd = open("/proc/kettle/objects", O_RDONLY);

    while (used < sizeof(text) - 1 && (count = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
        used += (size_t)count;
    close(fd);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        sum += atol(at + strlen(word));
    return sum;
}

static long small_objects(void)
{
    return objects("objects ");
}

static long large_objects(void)
{
    return objects(" large ");
}

static void all_once(int k)
{
    char text[128];
    int fd, other;

    kernels_go(k);
    mkdir("d", 0755);
    symlink("d/f", "l");
    fd = open("l", O_RDWR | O_CREAT, 0600);
    link("d/f", "h");
    mkfifo("p", 0600);
    other = open("p", O_RDWR);
    write(other, text, sizeof(text));
    ftruncate(fd, 1 << 20);
    write(fd, text, sizeof(text));
    close(other);
    rename("h", "i");
    unlink("d/f");
    close(open(".", O_TMPFILE | O_RDWR, 0600));
    chdir("d");
    kernels_go(k + 1);
    getcwd(text, sizeof(text));
    rmdir("../d");
    chdir(base);
    list(".");
    unlink("i");
    unlink("p");
    unlink("l");
    close(fd);
    open("none/x", O_RDONLY | O_CREAT, 0600);
    rename("none", "x");
    run(k, "none", "x");
    write_script("s", "#!%s exit-1\n");
    run(k + 1, "s", "x");
    unlink("s");
}

static void test_leaks(void)
{
    long before, large;

    if (!tap_on_kettle()) {
        tap_skip("only a Kettle counts its objects");
        return;
    }
    for (int turn = 0; turn < 2; turn++) { /* what is kept for reuse is there after the first */
        for (int k = 0; k < 2 * kernels_count(); k++)
            all_once(k);
    }
    kernels_go(0);
    before = tap_settled(small_objects, 0);
    large = tap_settled(large_objects, 0);
    for (int k = 0; k < 10 * kernels_count(); k++)
        all_once(k);
    kernels_go(0);
    tap_note("%ld objects and %ld large ones, before %ld and %ld", small_objects(), large_objects(), before, large);
    UNTIL(small_objects() <= before && large_objects() <= large, "as few objects as before");
}

static const struct tap_test tests[] = {
    {"files", "files made, removed and renamed by all kernels at once are all accounted for", test_files},
    {"directories", "directories and the link counts of their parents are accounted for as well", test_directories},
    {"programs", "a program that was written runs on every kernel, and so does what replaces it", test_programs},
    {"scripts", "scripts run with the interpreter and the argument of their first line", test_scripts},
    {"leaks", "removed files leave no objects behind", test_leaks},
};

int main(int argc, char **argv)
{
    const char *base_name = strrchr(tap_self(), '/');
    int status;

    if (argc > 1 && strncmp(argv[1], "exit-", 5) == 0)
        return atoi(argv[1] + 5);
    if (argc > 1 && strncmp(argv[1], "count", 5) == 0)
        return argc + (argv[1][5] != '\0' ? 10 : 0);
    if (base_name == NULL || strcmp(base_name, "/test-names") != 0)
        return 109; /* a copy of the program, or a script in whose place it runs */
    snprintf(base, sizeof(base), "/tmp/test-names-%d", getpid());
    snprintf(self, sizeof(self), "%s-self", base);
    mkdir("/tmp", 01777);
    if (mkdir(base, 0755) != 0 || chdir(base) != 0 || !copy_program(self))
        return 1;
    kernels_find();
    status = tap_run(argc, argv, tests, TAP_COUNT(tests));
    chdir("/");
    rmdir(base);
    unlink(self);
    return status;
}
