/* A file is open to be written, or it is executed (ETXTBSY), wherever the processes are. */
#include "abi.h"

#define READY                                                                                                          \
    100 /* descriptors of programs that run: they write when they have begun, and read when they are to go on */
#define ON 101

static char *self; /* the name of this program, and of a copy of its executable in the working directory */
static int ready[2], on[2];

static void copy_to(const char *name)
{
    static char bytes[65536];
    int from = (int)MUST(open("/proc/self/exe", O_RDONLY));
    int to = (int)MUST(open(name, O_WRONLY | O_CREAT | O_EXCL, 0755));

    for (ssize_t count; (count = MUST(read(from, bytes, sizeof(bytes)))) > 0;)
        MUST(write(to, bytes, (size_t)count));
    close(from);
    close(to);
}

/* A child that is made on CPU, and stays there, while this process goes on elsewhere. */
static pid_t fork_on(int cpu)
{
    pid_t child;

    go(cpu);
    child = fork();
    MUST(child);
    if (child != 0)
        go(cpu + 1);
    return child;
}

/* A child on CPU that executes NAME to do WHAT; it exits with the error if it cannot. */
static pid_t run(int cpu, const char *name, const char *what)
{
    pid_t child = fork_on(cpu);

    if (child == 0) {
        execl(name, self, what, (char *)NULL);
        _exit(errno == ETXTBSY ? 26 : errno == ENOEXEC ? 8 : 99);
    }
    return child;
}

static void tell_run(int cpu, const char *name)
{
    printf("run %s: ", name);
    reap(run(cpu, name, "nothing"));
}

static void await(void)
{
    char byte;

    MUST(read(ready[0], &byte, 1));
}

static void let_on(void)
{
    MUST(write(on[1], "", 1));
}

static void try_open(const char *name, int flags, const char *how)
{
    int fd = open(name, flags, 0755);

    printf("open %s %s: %s\n", name, how, fd >= 0 ? "0" : errno_name(errno));
    if (fd >= 0)
        close(fd);
}

static void try_all(const char *name)
{
    try_open(name, O_RDONLY, "to read");
    try_open(name, O_PATH, "as a path");
    try_open(name, O_WRONLY, "to write");
    try_open(name, O_RDWR | O_CREAT, "to read and write");
    try_open(name, O_RDONLY | O_TRUNC, "to truncate");
    printf("truncate %s: %s\n", name, truncate(name, 1) == 0 ? "0" : errno_name(errno));
    printf("access %s: %s\n", name, access(name, W_OK) == 0 ? "0" : errno_name(errno));
}

static void writers(void)
{
    int fd = (int)MUST(open(self, O_RDWR));
    pid_t child;

    tell_run(1, self);
    tell_run(2, self);
    child = fork_on(3);
    if (child == 0) { /* keeps it open, elsewhere, until it ends */
        char byte;

        MUST(write(ready[1], "", 1));
        MUST(read(on[0], &byte, 1));
        _exit(0);
    }
    close(fd);
    await();
    tell_run(1, self);
    let_on();
    MUST(waitpid(child, NULL, 0));
    for (int cpu = 0; cpu < 4; cpu++)
        tell_run(cpu, self);
    fd = (int)MUST(open(self, O_PATH));
    tell_run(1, self);
    close(fd);
    fd = (int)MUST(open(self, O_RDONLY));
    tell_run(1, self);
    close(fd);
}

static void runs(void)
{
    pid_t child = run(1, self, "wait"), other;

    await();
    try_all(self);
    other = run(2, self, "wait");
    await();
    let_on();
    let_on();
    reap(child);
    reap(other);
    try_open(self, O_WRONLY, "to write");
    /* a process made by one that ends still runs it */
    child = run(1, self, "leave");
    reap(child);
    await();
    try_open(self, O_WRONLY, "to write");
    let_on();
    await();
    reap(-1);
    child = run(3, self, "other");
    await();
    try_open(self, O_WRONLY, "to write");
    try_open("two", O_WRONLY, "to write");
    let_on();
    await(); /* it has executed "two" meanwhile */
    try_open(self, O_WRONLY, "to write");
    try_open("two", O_WRONLY, "to write");
    CALL(rename("two", "three"));
    CALL(chmod("three", 0700));
    CALL(unlink("three"));
    let_on();
    reap(child);
}

/* Who runs a program that ends, and opens it to write at once: nothing of the process is left. */
static void in_turn(void)
{
    int refused = 0;

    for (int i = 0; i < 24; i++) {
        pid_t child = run(i, self, "nothing");
        int status, fd;

        MUST(waitpid(child, &status, 0));
        refused += WEXITSTATUS(status) != 5;
        child = fork_on(i + 1);
        if (child == 0) {
            fd = open(self, O_RDWR);
            if (fd >= 0 && i % 2 == 0)
                close(fd);
            _exit(fd < 0);
        }
        MUST(waitpid(child, &status, 0));
        refused += WEXITSTATUS(status) != 0;
    }
    SHOW(refused);
}

static void scripts(void)
{
    char text[300];
    pid_t child;
    int fd;

    snprintf(text, sizeof(text), "#!%s wait\n", self); /* its argv[0] says what it is */
    put_file("script", text);
    MUST(chmod("script", 0755));
    fd = (int)MUST(open("script", O_WRONLY | O_APPEND));
    tell_run(1, "./script");
    close(fd);
    fd = (int)MUST(open(self, O_WRONLY));
    tell_run(1, "./script");
    close(fd);
    child = fork_on(2);
    if (child == 0) {
        execl("./script", "script", (char *)NULL);
        _exit(99);
    }
    await();
    try_open("script", O_WRONLY, "to write");
    try_open(self, O_WRONLY, "to write");
    let_on();
    reap(child);
}

/* What memfd_create opens itself does not keep the file from being executed; another open of it does. */
static void nameless(void)
{
    int from = (int)MUST(open(self, O_RDONLY)), fd = (int)MUST(memfd_create("nameless", 0)), more;
    char name[64];
    pid_t child;

    MUST(sendfile(fd, from, NULL, 1 << 30));
    close(from);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    more = (int)MUST(open(name, O_RDWR));
    child = run(1, name, "nothing");
    reap(child);
    close(more);
    child = run(1, name, "wait");
    await();
    more = open(name, O_RDWR);
    printf("open memfd to write: %s\n", more >= 0 ? "0" : errno_name(errno));
    SHOW(write(fd, "x", 1));
    let_on();
    reap(child);
    more = open(name, O_RDWR);
    printf("open memfd to write: %s\n", more >= 0 ? "0" : errno_name(errno));
}

static int program(const char *what)
{
    char byte;

    if (strcmp(what, "nothing") == 0)
        return 5;
    if (strcmp(what, "leave") == 0 && fork() != 0)
        return 6;
    MUST(write(READY, "", 1));
    MUST(read(ON, &byte, 1));
    if (strcmp(what, "other") == 0)
        execl("two", self, "wait", (char *)NULL);
    if (strcmp(what, "leave") == 0)
        MUST(write(READY, "", 1));
    return 7;
}

static int all(void)
{
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
    MUST(pipe(ready));
    MUST(pipe(on));
    MUST(dup2(ready[1], READY));
    MUST(dup2(on[0], ON));
    copy_to(self);
    copy_to("two");
    writers();
    runs();
    in_turn();
    scripts();
    nameless();
    return 0;
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc > 1)
        return program(argv[1]);
    go(1); /* where files are not, so that nothing orders what reaches them and what reaches this process */
    reap(spawn(all));
    return 0;
}
