/* kettle-ctl: starts and stops kernels and shows what the machine says about itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "libc/numa.h"
#include "userland/help.h"
#include "userland/kernel_list.h"
#include "userland/proc_file.h"
#include "userland/program.h"

#define STATUS_FAILED 1
#define STATUS_USAGE 2

static const char usage[] =
    "usage: kettle-ctl start LIST [-- PROGRAM [ARGS...]]\n"
    "       kettle-ctl start KERNEL --image FILE\n"
    "       kettle-ctl update FILE\n"
    "       kettle-ctl stop LIST\n"
    "       kettle-ctl kill KERNEL [now | panic | spin | halt]\n"
    "       kettle-ctl set WORD...\n"
    "       kettle-ctl audit [PID]\n"
    "       kettle-ctl retrieve PID STRATEGY\n"
    "       kettle-ctl numa PID POLICY\n"
    "       kettle-ctl group THREAD GROUP\n"
    "       kettle-ctl ps [-T]\n"
    "       kettle-ctl kernels | plan | messages | trace | syscalls | objects | allocations | strategies\n"
    "\n"
    "  start     start the kernels of LIST (3, or 1,3,5-7, or all), in that order;\n"
    "            then run PROGRAM and exit with its status\n"
    "            --image: start KERNEL, which must not run, from the image FILE of another build\n"
    "  update    while programs run, stop each kernel but 0 that runs and start it from the image FILE\n"
    "  stop      stop the kernels of LIST, in that order, while programs run; kernel 0 cannot\n"
    "            be stopped\n"
    "  kill      end a kernel as a failure would, for tests: now (wherever its CPUs are), by a panic,\n"
    "            or without notice: it spins, or halts; then wait until the others have cleaned up;\n"
    "            the end of kernel 0 is that of the machine\n"
    "  set       change options on every kernel, or with kernel=K on one (docs/options.md):\n"
    "            poll=N|always  trace=on|off|clear  inject=off|seed:N[,rate:PERCENT]\n"
    "            [,delay:US][,peer:K][,type:NAME][,hold:US][,slow:US]\n"
    "            place=local|spread|least-loaded  balance=off|clone|active\n"
    "            huge=madvise|always|never  audit=off|WORD (lie to audits, as a test)\n"
    "            of programs that begin later: prefetch=0..32\n"
    "            retrieve=STRATEGY\n"
    "  audit     check that all kernels agree on the memory of process PID, or of all, and\n"
    "            that none maps what is not its own; exit status 1 if they do not\n"
    "  retrieve  how kernels find pages of process PID from now on: STRATEGY is one of those that\n"
    "            kettle-ctl strategies lists\n"
    "  numa      by which policy memory of process PID moves to those who use it from now on: a\n"
    "            value of the option numa=, or default; with ,accessed or ,faults behind it also\n"
    "            how accesses are seen\n"
    "  group     thread THREAD is in NUMA group GROUP (1 to 15) of its process from now on, 0: in none\n"
    "  ps        every process, with -T every thread, and the kernel it runs on (as /bin/ps: a\n"
    "            shell may have another ps of its own)\n"
    "  kernels   the kernels and their state\n"
    "  plan      which kernel owns which CPUs and memory\n"
    "  messages  messages between kernels, by type\n"
    "  trace     the last messages that each kernel sent and took, if trace=on; time, by which\n"
    "            those of all kernels are in order, in units of 32 counts of the CPU's clock\n"
    "  syscalls  system calls that were asked for and are not there\n"
    "  objects   what each kernel has that is made and freed while programs run\n"
    "  allocations  the places that have allocated since alloc= was set, and how often it refused\n"
    "  strategies  the strategies of retrieval: name, whether the home has a directory, and which\n"
    "            kernels are asked\n";

static int usage_error(const char *problem, const char *word)
{
    fprintf(stderr, "kettle-ctl: %s%s%s\nkettle-ctl: try kettle-ctl --help\n", problem, word[0] == '\0' ? "" : ": ",
            word);
    return STATUS_USAGE;
}

/* What is wrong with an image, or with its kernel. */
static const char *image_error(void)
{
    if (errno == EPROTO)
        return "its messages and shared structures are not those of this machine";
    if (errno == ENOEXEC)
        return "it is no image of a kernel, or damaged";
    if (errno == ENOSPC)
        return "it does not fit into the kernel's memory";
    return errno == EBUSY ? "the kernel runs" : strerror(errno);
}

static int start_from_image(int kernel, const char *file)
{
    if (kettle_image(kernel, file) != 0) {
        fprintf(stderr, "kettle-ctl: cannot start kernel %d from %s: %s\n", kernel, file, image_error());
        return STATUS_FAILED;
    }
    printf("kernel %d started from %s\n", kernel, file);
    return 0;
}

/* Stops KERNEL and starts it from the image in FILE, or, if that fails, from the old one. */
static bool update_kernel(int kernel, const char *file)
{
    if (kettle_stop(kernel) != 0) {
        fprintf(stderr, "kettle-ctl: kernel %d stays as it is: %s\n", kernel, strerror(errno));
        return false;
    }
    if (kettle_image(kernel, file) == 0) {
        printf("kernel %d updated\n", kernel);
        return true;
    }
    fprintf(stderr, "kettle-ctl: kernel %d starts from the image of the boot: %s\n", kernel, image_error());
    if (kettle_start(kernel) != 0)
        fprintf(stderr, "kettle-ctl: cannot start kernel %d: %s\n", kernel, strerror(errno));
    return false;
}

static int update(int argc, char **argv)
{
    bool good = true;

    if (argc != 3)
        return usage_error("update needs one image", "");
    if (kettle_image(KETTLE_ANY, argv[2]) != 0) {
        fprintf(stderr, "kettle-ctl: %s: %s\n", argv[2], image_error());
        return STATUS_FAILED;
    }
    for (int kernel = 1; kernel < kettle_kernels(); kernel++) {
        if (kettle_started(kernel) == 1)
            good = update_kernel(kernel, argv[2]) && good;
    }
    return good ? 0 : STATUS_FAILED;
}

static int start(int argc, char **argv)
{
    bool then_run = argc > 3 && strcmp(argv[3], "--image") != 0;
    struct kernel_list list;
    const char *error;

    if (argc < 3)
        return usage_error("start needs a kernel", "");
    if (then_run && (strcmp(argv[3], "--") != 0 || argc == 4))
        return usage_error("a program to run follows --", "");
    error = kernel_list_parse(argv[2], kettle_kernels(), &list);
    if (error != NULL)
        return usage_error(error, argv[2]);
    if (argc > 3 && !then_run) {
        if (argc != 5 || list.count != 1)
            return usage_error("one kernel starts from one image", "");
        return start_from_image(list.kernels[0], argv[4]);
    }
    if (!kernel_list_start(&list, "kettle-ctl", !then_run))
        return STATUS_FAILED;
    return then_run ? program_run(argv + 4, "kettle-ctl") : 0;
}

static int stop(int argc, char **argv)
{
    struct kernel_list list;
    const char *error;

    if (argc < 3)
        return usage_error("stop needs a kernel", "");
    if (argc > 3)
        return usage_error("one argument too many", argv[3]);
    error = kernel_list_parse(argv[2], kettle_kernels(), &list);
    if (error != NULL)
        return usage_error(error, argv[2]);
    return kernel_list_stop(&list, "kettle-ctl") ? 0 : STATUS_FAILED;
}

static int kill_kernel(int argc, char **argv)
{
    static const char *const ways[] = {"now", "panic", "spin", "halt"}; /* KETTLE_KILL_* */
    const char *way = argc > 3 ? argv[3] : "now";
    struct kernel_list list;
    const char *error;
    int how = 0;

    if (argc < 3)
        return usage_error("kill needs a kernel", "");
    if (argc > 4)
        return usage_error("one argument too many", argv[4]);
    error = kernel_list_parse(argv[2], kettle_kernels(), &list);
    if (error != NULL || list.count != 1)
        return usage_error(error != NULL ? error : "one kernel at a time", argv[2]);
    while (how < 4 && strcmp(way, ways[how]) != 0)
        how++;
    if (how == 4)
        return usage_error("no such way to end", way);
    if (kettle_kill(list.kernels[0], how) == 0)
        return 0;
    perror("kettle-ctl: kill");
    return STATUS_FAILED;
}

static int set(int argc, char **argv)
{
    char words[512] = "";
    size_t used = 0;

    if (argc < 3)
        return usage_error("set needs a word", "");
    for (int i = 2; i < argc; i++) {
        used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s", i > 2 ? " " : "", argv[i]);
        if (used >= sizeof(words))
            return usage_error("too many words", argv[i]);
    }
    if (kettle_control(words) == 0)
        return 0;
    if (errno == EINVAL)
        return usage_error("these words make no sense", words);
    perror("kettle-ctl: set");
    return STATUS_FAILED;
}

/* 0: it is none. */
static pid_t process_of(const char *word)
{
    char *end = NULL;
    pid_t pid = (pid_t)strtol(word, &end, 10);

    return *end != '\0' || pid <= 0 ? 0 : pid;
}

/* Sets what NEEDS says of a process with SET. */
static int set_process(int argc, char **argv, const char *needs, const char *unknown,
                       int (*set)(pid_t pid, const char *name))
{
    pid_t pid;

    if (argc < 4)
        return usage_error(needs, "");
    if (argc > 4)
        return usage_error("one argument too many", argv[4]);
    pid = process_of(argv[2]);
    if (pid == 0)
        return usage_error("no process id", argv[2]);
    if (set(pid, argv[3]) == 0)
        return 0;
    if (errno == EINVAL)
        return usage_error(unknown, argv[3]);
    fprintf(stderr, "kettle-ctl: %s: %s\n", argv[1], strerror(errno));
    return STATUS_FAILED;
}

static int set_group(pid_t thread, const char *group)
{
    char *end;
    long number = strtol(group, &end, 10);

    if (end == group || *end != '\0' || number < 0 || number > KETTLE_GROUPS) {
        errno = EINVAL;
        return -1;
    }
    return kettle_group_join(thread, (int)number);
}

static int audit(int argc, char **argv)
{
    static char report[32768];
    pid_t pid = KETTLE_AUDIT_MACHINE;
    int violations;

    if (argc > 3)
        return usage_error("one argument too many", argv[3]);
    if (argc == 3) {
        pid = process_of(argv[2]);
        if (pid == 0)
            return usage_error("no process id", argv[2]);
    }
    violations = kettle_audit(pid, report, sizeof(report));
    if (violations < 0) {
        perror("kettle-ctl: audit");
        return STATUS_USAGE;
    }
    fputs(report, stdout);
    return violations == 0 ? 0 : STATUS_FAILED;
}

int main(int argc, char **argv)
{
    if (help_asked(argc, argv, usage))
        return 0;
    if (argc < 2)
        return usage_error("what is to be done?", "");
    if (strcmp(argv[1], "start") == 0)
        return start(argc, argv);
    if (strcmp(argv[1], "update") == 0)
        return update(argc, argv);
    if (strcmp(argv[1], "stop") == 0)
        return stop(argc, argv);
    if (strcmp(argv[1], "kill") == 0)
        return kill_kernel(argc, argv);
    if (strcmp(argv[1], "set") == 0)
        return set(argc, argv);
    if (strcmp(argv[1], "audit") == 0)
        return audit(argc, argv);
    if (strcmp(argv[1], "retrieve") == 0)
        return set_process(argc, argv, "retrieve needs a process id and a strategy", "no such strategy",
                           kettle_retrieve);
    if (strcmp(argv[1], "numa") == 0)
        return set_process(argc, argv, "numa needs a process id and a policy", "no such policy", kettle_numa);
    if (strcmp(argv[1], "group") == 0)
        return set_process(argc, argv, "group needs a thread id and a group", "no such group", set_group);
    if (strcmp(argv[1], "ps") == 0) {
        execv("/bin/ps", argv + 1);
        perror("kettle-ctl: /bin/ps");
        return STATUS_FAILED;
    }
    if (!proc_file_exists(argv[1]))
        return usage_error("no such command", argv[1]);
    if (argc > 2)
        return usage_error("one argument too many", argv[2]);
    return proc_file_print(argv[1], "kettle-ctl") ? 0 : STATUS_FAILED;
}
