/* test-exec: execve replaces a program that has threads on all kernels, keeps what it must, and changes nothing when it
 * fails. */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/exec.h"
#include "userland/x86.h"

#define PAGE 4096
#define STRING_MAX 131072 /* bytes of one argument with its NUL, Linux's limit */

/* --- what is executed --- */

/* @identity PID TID_WAS: exits with 0 when the process is PID, its only thread has the process's id, and the kernel
 * knows no other thread. */
static int child_identity(int argc, char **argv)
{
    pid_t pid = argc > 2 ? atoi(argv[2]) : 0;
    pid_t old = argc > 3 ? atoi(argv[3]) : 0;

    if (getpid() != pid)
        return 1;
    if (syscall(SYS_gettid) != pid)
        return 2;
    /* The id that the executing thread had is nobody's. */
    if (old != 0 && old != pid && (syscall(SYS_tgkill, pid, old, 0) != -1 || errno != ESRCH))
        return 3;
    return 0;
}

/* @watched PIPE_OUT PIPE_IN: says that it runs, and exits with 0 when it is told to. */
static int child_watched(int argc, char **argv)
{
    char byte = 'r';

    if (argc < 4 || write(atoi(argv[2]), &byte, 1) != 1)
        return 1;
    return read(atoi(argv[3]), &byte, 1) == 1 ? 0 : 2;
}

/* @sum: exits with 0 when the standard input, a pipe, says how many arguments and variables there are and what the sum
 * of their bytes is. */
static int child_sum(int argc, char **argv)
{
    unsigned long expected[4];
    unsigned long found[4] = {(unsigned long)argc, 0, 0, 0};

    if (read(0, expected, sizeof(expected)) != sizeof(expected))
        return 1;
    for (int i = 0; i < argc; i++) {
        for (const char *at = argv[i]; *at != '\0'; at++)
            found[1] = found[1] * 31 + (unsigned char)*at;
        found[1] = found[1] * 31 + 1;
    }
    for (char **entry = environ; *entry != NULL; entry++, found[2]++) {
        for (const char *at = *entry; *at != '\0'; at++)
            found[3] = found[3] * 31 + (unsigned char)*at;
        found[3] = found[3] * 31 + 1;
    }
    if (argv[argc] != NULL)
        return 2;
    for (int i = 0; i < 4; i++) {
        if (found[i] != expected[i])
            return 10 + i;
    }
    return 0;
}

/* @signals: exits with 0 when dispositions, mask and pending signals are what test_signals left. */
static int child_signals(int argc, char **argv)
{
    struct sigaction action;
    sigset_t set;
    stack_t stack;
    siginfo_t info;
    struct timespec none = {0, 0};

    (void)argc;
    (void)argv;
    if (sigaction(SIGUSR1, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
        return 1;
    if (sigaction(SIGUSR2, NULL, &action) != 0 || action.sa_handler != SIG_IGN)
        return 2;
    if (sigaction(SIGTERM, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
        return 3;
    sigprocmask(SIG_SETMASK, NULL, &set);
    if (sigismember(&set, SIGHUP) != 1 || sigismember(&set, SIGRTMIN + 1) != 1 || sigismember(&set, SIGINT) != 0)
        return 4;
    sigpending(&set);
    if (sigismember(&set, SIGHUP) != 1 || sigismember(&set, SIGRTMIN + 1) != 1 || sigismember(&set, SIGINT) != 0)
        return 5;
    if (sigaltstack(NULL, &stack) != 0 || stack.ss_flags != SS_DISABLE)
        return 6;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    if (sigtimedwait(&set, &info, &none) != SIGRTMIN + 1 || info.si_value.sival_int != 4711)
        return 7;
    if (sigtimedwait(&set, &info, &none) != SIGRTMIN + 1 || info.si_value.sival_int != 4712)
        return 8;
    return sigtimedwait(&set, &info, &none) == -1 && errno == EAGAIN ? 0 : 9;
}

/* @fresh: exits with 0 when registers, memory and name are those of a new program. */
static int child_fresh(int argc, char **argv)
{
    char name[16] = "";

    (void)argc;
    (void)argv;
    if (x86_x87_control() != 0x37f || x86_sse_control() != 0x1f80)
        return 1;
    if (prctl(PR_GET_NAME, name) != 0)
        return 2;
    return strncmp(name, "test-exec", 9) == 0 ? 0 : 3;
}

/* @family PID,PPID,PGID,SID: the exit status says which differ. */
static int child_family(int argc, char **argv)
{
    int pids[4];

    if (argc != 3 || sscanf(argv[2], "%d,%d,%d,%d", &pids[0], &pids[1], &pids[2], &pids[3]) != 4)
        return 9;
    return (getpid() != pids[0]) + (getppid() != pids[1]) * 2 + (getpgid(0) != pids[2]) * 4 +
           (getsid(0) != pids[3]) * 8;
}

/* @alarmed: the alarm set before ends it. */
static int child_alarmed(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    pause();
    return 9;
}

/* @winner */
static int child_winner(int argc, char **argv)
{
    return argc > 2 ? atoi(argv[2]) : 99;
}

/* --- tests --- */

_Noreturn void exec_identity(void)
{
    char pid[16];
    char tid[16];

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    snprintf(tid, sizeof(tid), "%ld", syscall(SYS_gettid));
    tap_exec("identity", pid, tid);
}

static void test_main_thread(void)
{
    for (int i = 0; i < place_count(); i++) {
        pid_t child = FORK();

        if (child == 0) {
            place_go(i);
            exec_identity();
        }
        CHECK_EXITS(child, 0);
    }
}

/* --- failing --- */

static atomic_int handled;

static void handler_counts(int signal)
{
    (void)signal;
    atomic_fetch_add(&handled, 1);
}

/* A file of the test's own directory in the machine, or in the source tree. */
static const char *file_find(const char *name)
{
    static char path[80];
    static const char *const directories[] = {"/share/test", "tests/guest/files"};

    for (size_t i = 0; i < TAP_COUNT(directories); i++) {
        snprintf(path, sizeof(path), "%s/%s", directories[i], name);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

static void expect_failures(void)
{
    static char huge[STRING_MAX + 1];
    static char long_path[5000];
    char *few[] = {"name", NULL};
    char *bad[] = {"name", (char *)TAP_UNMAPPED, NULL};
    char *one[] = {"name", huge, NULL};
    char *many[65];
    char below[300];
    const char *file;

    CHECK_ERROR(execve("/no/such/program", few, environ), ENOENT);
    CHECK_ERROR(execve("", few, environ), ENOENT);
    CHECK_ERROR(execve("/", few, environ), EACCES);
    snprintf(below, sizeof(below), "%s/below", tap_self());
    CHECK_ERROR(execve(below, few, environ), ENOTDIR);
    memset(long_path, 'a', sizeof(long_path) - 1);
    CHECK_ERROR(execve(long_path, few, environ), ENAMETOOLONG);
    file = file_find("small");
    if (file != NULL)
        CHECK_ERROR(execve(file, few, environ), EACCES);
    file = file_find("garbage");
    if (file != NULL)
        CHECK_ERROR(execve(file, few, environ), ENOEXEC);
    CHECK_ERROR(execve(TAP_UNMAPPED, few, environ), EFAULT);
    CHECK_ERROR(execve(tap_self(), (char **)TAP_UNMAPPED, environ), EFAULT);
    CHECK_ERROR(execve(tap_self(), few, (char **)TAP_UNMAPPED), EFAULT);
    CHECK_ERROR(execve(tap_self(), bad, environ), EFAULT);
    CHECK_ERROR(execve(tap_self(), few, bad), EFAULT);
    /* One string too long, and strings that are too many. */
    memset(huge, 'a', STRING_MAX);
    CHECK_ERROR(execve(tap_self(), one, environ), E2BIG);
    huge[STRING_MAX - 1] = '\0';
    for (int i = 0; i < 64; i++)
        many[i] = huge;
    many[64] = NULL;
    CHECK_ERROR(execve(tap_self(), many, environ), E2BIG);
}

static void test_errors(void)
{
    struct sigaction action = {.sa_handler = handler_counts};
    sigset_t set;
    int descriptors[2];
    uint64_t beats;
    int count = place_few(4);
    char *memory = malloc(PAGE);

    MUST(sigaction(SIGUSR1, &action, NULL));
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    MUST(sigprocmask(SIG_SETMASK, &set, NULL));
    MUST(pipe2(descriptors, O_CLOEXEC));
    company = tap_share(PAGE);
    company_start(count, thread_beats);
    memory[9] = 7;
    for (int i = 0; i < count; i++) {
        place_go(i);
        expect_failures();
        /* Everything is as it was: the place, threads, handlers, the mask, descriptors, memory. */
        CHECK(place_here() == i % place_count(), "at place %d", place_here());
        beats = atomic_load(&company->beats[i]);
        UNTIL(atomic_load(&company->beats[i]) > beats, "a thread to live on behind an exec that failed");
        MUST(raise(SIGUSR1));
        CHECK(atomic_load(&handled) == i + 1, "%d signals handled", atomic_load(&handled));
        MUST(sigprocmask(SIG_SETMASK, NULL, &set));
        CHECK(sigismember(&set, SIGHUP) == 1, "the mask differs");
        CHECK(write(descriptors[1], "y", 1) == 1 && read(descriptors[0], memory, 1) == 1, "%s", tap_error(errno));
        CHECK(memory[9] == 7, "%d", memory[9]);
    }
}

/* --- arguments --- */

static void sum_strings(char *const *strings, unsigned long *count, unsigned long *sum)
{
    for (*count = *sum = 0; strings[*count] != NULL; (*count)++) {
        for (const char *at = strings[*count]; *at != '\0'; at++)
            *sum = *sum * 31 + (unsigned char)*at;
        *sum = *sum * 31 + 1;
    }
}

/* A program of TYPE that would exit with 7, and has a page at ADDRESS besides. */
static void make_program(const char *path, unsigned type, uint64_t address)
{
    static const unsigned char exits[] = {0xb8, SYS_exit, 0, 0, 0, 0xbf, 7, 0, 0, 0, 0x0f, 0x05};
    uint64_t base = type == ET_DYN ? 0 : 0x400000;
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr programs[2];
        unsigned char code[sizeof(exits)];
    } file = {.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = (Elf64_Half)type,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_entry = base + offsetof(__typeof__(file), code),
                         .e_phoff = sizeof(Elf64_Ehdr),
                         .e_ehsize = sizeof(Elf64_Ehdr),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 2},
              .programs = {
                  {.p_type = PT_LOAD,
                   .p_flags = PF_R | PF_X,
                   .p_vaddr = base,
                   .p_filesz = sizeof(file),
                   .p_memsz = sizeof(file),
                   .p_align = PAGE},
                  {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = address, .p_memsz = PAGE, .p_align = PAGE}}};
    int fd;

    memcpy(file.code, exits, sizeof(exits));
    fd = (int)MUST(open(path, O_CREAT | O_TRUNC | O_WRONLY, 0755));
    MUST(write(fd, &file, sizeof(file)));
    close(fd);
}

/* Runs it: its status as wait tells, or that of an exec that failed. */
static int run_program(const char *path)
{
    char *arguments[] = {(char *)(uintptr_t)path, NULL};
    int status = -1;
    pid_t child = FORK();

    if (child == 0) {
        execv(path, arguments);
        _exit(1);
    }
    MUST(waitpid(child, &status, 0));
    return status;
}

/* Where a page of a program must not be: above all programs, in halves of addresses that are the kernel's, also when
 * the program can be put anywhere and only its own addresses are low; and where every program has something. */
static void test_no_place(void)
{
    static const uint64_t addresses[] = {
        0x7fffffffe000, 0x7fffffffd000, 0x7ffffffff000, 0xffff888000000000, 0x2aaaaaaab000,
        0x333333aac000, 0x73aaaaaac000, 0x73abaaaac000, 0x73acaaaac000,     0x7fffffff0000 - 0x555555554000,
        0x7ffffffde000};
    char path[64];

    snprintf(path, sizeof(path), "/tmp/test-exec-%d", getpid());
    make_program(path, ET_DYN, 0x10000);
    CHECK(run_program(path) == 7 << 8, "a program that has its place");
    make_program(path, ET_EXEC, 0x500000);
    CHECK(run_program(path) == 7 << 8, "a program that has a place of its own");
    for (size_t i = 0; i < TAP_COUNT(addresses); i++) {
        for (unsigned type = ET_EXEC; type <= ET_DYN; type++) {
            int status;

            place_go((int)i);
            make_program(path, type, addresses[i]);
            status = run_program(path);
            tap_note("%s with a page at %lx: %x", type == ET_DYN ? "PIE" : "program", (unsigned long)addresses[i],
                     status);
        }
    }
    MUST(unlink(path));
}

static void exec_sum(char **arguments, char **variables)
{
    unsigned long expected[4];
    int descriptors[2];
    pid_t child;

    arguments[0] = (char *)tap_self();
    arguments[1] = "@sum";
    sum_strings(arguments, &expected[0], &expected[1]);
    sum_strings(variables, &expected[2], &expected[3]);
    MUST(pipe(descriptors));
    child = FORK();
    if (child == 0) {
        MUST(dup2(descriptors[0], 0));
        MUST(execve(arguments[0], arguments, variables));
    }
    MUST(write(descriptors[1], expected, sizeof(expected)));
    if (!CHECK_EXITS(child, 0))
        tap_note("with %lu arguments and %lu variables", expected[0], expected[2]);
    close(descriptors[0]);
    close(descriptors[1]);
}

static void test_arguments(void)
{
    enum { COUNT = 4000 };
    static char *arguments[COUNT + 1];
    static char *variables[COUNT + 1];
    static char big[STRING_MAX];
    uint64_t random = 3;

    /* None, empty ones, one of the greatest size. */
    arguments[2] = NULL;
    variables[0] = NULL;
    exec_sum(arguments, variables);
    arguments[2] = arguments[3] = "";
    arguments[4] = NULL;
    exec_sum(arguments, variables);
    variables[0] = "";
    variables[1] = "A=";
    variables[2] = NULL;
    exec_sum(arguments, variables);
    memset(big, 'b', sizeof(big) - 1);
    arguments[2] = big;
    arguments[3] = NULL;
    variables[0] = big;
    variables[1] = NULL;
    place_go(1);
    exec_sum(arguments, variables);
    /* Sizes around those of a page, from every place. */
    for (int size = PAGE - 3; size < PAGE + 3; size++) {
        place_go(size);
        big[size] = '\0';
        exec_sum(arguments, variables);
        big[size] = 'b';
    }
    /* Many of random length. */
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            arguments[i] = big + sizeof(big) - 1 - tap_random(&random) % 60;
            variables[i] = big + sizeof(big) - 1 - tap_random(&random) % 60;
        }
        arguments[COUNT >> round * 4] = NULL;
        variables[COUNT >> (2 - round) * 4] = NULL;
        place_go(round);
        exec_sum(arguments, variables);
    }
}

/* --- what is kept --- */

static void test_signals(void)
{
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        if (child == 0) {
            struct sigaction action = {.sa_handler = handler_counts, .sa_flags = SA_RESTART};
            static char stack[16 * PAGE];
            stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
            union sigval value = {.sival_int = 4711};
            sigset_t set;

            MUST(sigaction(SIGUSR1, &action, NULL));
            MUST(sigaction(SIGTERM, &action, NULL));
            action.sa_handler = SIG_IGN;
            MUST(sigaction(SIGUSR2, &action, NULL));
            MUST(sigaltstack(&alternate, NULL));
            sigemptyset(&set);
            sigaddset(&set, SIGHUP);
            sigaddset(&set, SIGRTMIN + 1);
            MUST(sigprocmask(SIG_SETMASK, &set, NULL));
            MUST(kill(getpid(), SIGHUP));
            place_go(i);
            MUST(sigqueue(getpid(), SIGRTMIN + 1, value));
            value.sival_int++;
            MUST(sigqueue(getpid(), SIGRTMIN + 1, value));
            tap_exec("signals", NULL, NULL);
        }
        CHECK_EXITS(child, 0);
    }
}

static void test_fresh(void)
{
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        if (child == 0) {
            place_go(i);
            x86_float_control(0x7f, 0x9fc0);
            MUST(prctl(PR_SET_NAME, "another"));
            tap_exec("fresh", NULL, NULL);
        }
        CHECK_EXITS(child, 0);
    }
}

static void test_family(void)
{
    for (int way = 0; way < 3; way++) {
        pid_t child = FORK();

        if (child == 0) {
            char pids[64];

            if (way == 1)
                MUST(setpgid(0, 0));
            if (way == 2)
                MUST(setsid());
            snprintf(pids, sizeof(pids), "%d,%d,%d,%d", (int)getpid(), (int)getppid(), (int)getpgid(0), (int)getsid(0));
            place_go(way);
            tap_exec("family", pids, NULL);
        }
        CHECK_EXITS(child, 0);
    }
}

/* After its child's exec a parent may no longer change its group. */
static void test_group_of_child(void)
{
    struct watched watched = {.place = 1};
    char byte;
    pid_t child;

    MUST(pipe(watched.up));
    MUST(pipe(watched.down));
    child = FORK();
    if (child == 0)
        thread_execs_watched(&watched);
    REQUIRE(read(watched.up[0], &byte, 1) == 1, "%s", tap_error(errno));
    CHECK_ERROR(setpgid(child, child), EACCES);
    MUST(write(watched.down[1], "x", 1));
    CHECK_EXITS(child, 0);
}

static void test_alarm(void)
{
    pid_t child = FORK();

    if (child == 0) {
        struct itimerval timer = {.it_value = {0, 200000}};

        place_go(1);
        MUST(setitimer(ITIMER_REAL, &timer, NULL));
        tap_exec("alarmed", NULL, NULL);
    }
    CHECK_DIES(child, SIGALRM);
}

static void handler_execs(int signal)
{
    (void)signal;
    exec_identity();
}

static void test_in_handler(void)
{
    for (int i = 0; i < place_few(4); i++) {
        pid_t child = FORK();

        if (child == 0) {
            struct sigaction action = {.sa_handler = handler_execs};

            place_go(i);
            MUST(sigaction(SIGUSR1, &action, NULL));
            MUST(raise(SIGUSR1));
            _exit(66);
        }
        CHECK_EXITS(child, 0);
    }
}

static void test_at_once(void)
{
    pid_t children[12];

    for (int i = 0; i < 12; i++) {
        children[i] = FORK();
        if (children[i] == 0) {
            place_go(i);
            exec_identity();
        }
    }
    for (int i = 0; i < 12; i++)
        CHECK_EXITS(children[i], 0);
}

static const struct tap_test tests[] = {
    {"main", "exec from the main thread on every place", test_main_thread},
    {"thread", "exec from a second thread, which becomes the first", exec_test_second_thread},
    {"others", "exec ends the running threads of all places", exec_test_running_others},
    {"others-thread", "exec from a second thread ends the running threads of all places",
     exec_test_running_others_thread},
    {"blocked", "exec ends threads that wait on all places", exec_test_waiting_others},
    {"blocked-thread", "exec from a second thread ends threads that wait on all places",
     exec_test_waiting_others_thread},
    {"race", "of threads that exec at once one wins", exec_test_race},
    {"coming", "no thread survives exec that is being made, or on its way, meanwhile", exec_test_coming},
    {"astray", "what a thread does after exec has begun to end it does not end the new program", exec_test_astray},
    {"race-exit", "of exec and exit_group at once one wins", exec_test_race_exit},
    {"errors", "an exec that fails leaves everything as it was", test_errors},
    {"no-place", "a program without room in the address space is refused and harms nobody", test_no_place},
    {"arguments", "arguments and variables of all sizes arrive", test_arguments},
    {"signals", "handlers are reset; ignored, masked and pending signals are kept", test_signals},
    {"fresh", "registers and the thread's name are those of a new program", test_fresh},
    {"family", "ids of process, parent, group and session are kept", test_family},
    {"group-of-child", "setpgid of a child that has executed a program is EACCES", test_group_of_child},
    {"alarm", "an alarm is kept across exec", test_alarm},
    {"in-handler", "exec works in a signal handler", test_in_handler},
    {"at-once", "many processes exec at once on all places", test_at_once},
};

static const struct tap_child children[] = {
    {"identity", child_identity}, {"watched", child_watched}, {"sum", child_sum},         {"signals", child_signals},
    {"fresh", child_fresh},       {"family", child_family},   {"alarmed", child_alarmed}, {"winner", child_winner},
};

static const struct tap_program program = {
    .tests = tests, .count = TAP_COUNT(tests), .apart = true, .children = children, .child_count = TAP_COUNT(children)};

int main(int argc, char **argv)
{
    return tap_main(argc, argv, &program);
}
