/* test-hostile: a kernel sends the others messages that no correct kernel sends. They may damage one process, the
 * victim, in every way; the others' kernels neither panic nor stop to serve everybody else. Takes a seed and the number
 * of messages of each kernel: `test-hostile SEED COUNT [TYPE]`.
 *
 * Files that a kernel has had opened for itself are its own, and it never gives them back here: an audit of the machine
 * then finds files that are open oftener than anybody uses them, and rightly so. `test-hostile opens` shows that they
 * go with the kernel, which it ends; it runs in a machine with place=local. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"

#define PAGES 64

static int kernels;
static struct kettle_messages run = {.operation = KETTLE_MESSAGES_HOSTILE, .seed = 1, .count = 2000};

static void *stay(void *argument)
{
    char *memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    kettle_migrate((int)(long)argument);
    for (long i = 0;; i++) {
        if (memory != MAP_FAILED)
            memory[i % PAGES * 4096]++;
        if (i % 64 == 0)
            usleep(5000);
    }
    return NULL;
}

/* A process with a thread and memory on each kernel. */
static pid_t start_victim(void)
{
    pid_t victim = fork();

    if (victim == 0) {
        pthread_t thread;

        signal(SIGTERM, SIG_DFL);
        setsid();
        for (long k = 0; k < kernels; k++)
            pthread_create(&thread, NULL, stay, (void *)k);
        pause();
        _exit(0);
    }
    return victim;
}

/* A process that stays where it is. */
static pid_t start_victim_here(void)
{
    pid_t victim = fork();

    while (victim == 0)
        pause();
    return victim;
}

/* A child and its own child on each kernel: processes, memory, pipes and files there work. */
static int use_everything(int but)
{
    for (int kernel = 0; kernel < kernels; kernel++) {
        int ends[2], status = -1;
        char word[8] = "";
        pid_t child;

        if (kernel == but)
            continue;
        if (kettle_migrate(kernel) != 0 || pipe(ends) != 0)
            return 1;
        child = fork();
        if (child == 0) {
            char *memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

            kettle_migrate((kernel + 1) % kernels == but ? kernel : (kernel + 1) % kernels);
            for (int i = 0; i < PAGES; i++)
                memory[i * 4096] = 1;
            _exit(write(ends[1], "there", 6) == 6 ? 3 : 4);
        }
        if (child < 0 || read(ends[0], word, sizeof(word)) != 6 || strcmp(word, "there") != 0 ||
            waitpid(child, &status, 0) != child || status != 3 << 8)
            return 2;
        close(ends[0]);
        close(ends[1]);
    }
    return 0;
}

static void test_others(void)
{
    for (int i = 0; i < 80; i++) { /* many messages have small numbers in them, which are ids of nobody else then */
        pid_t child = fork();

        if (child == 0)
            _exit(0);
        CHECK_EXITS(child, 0);
    }
    for (int kernel = kernels - 1; kernel > 0; kernel--) {
        pid_t victim = start_victim(), sender, user;

        sender = fork();
        if (sender == 0) {
            run.size = (uint32_t)victim;
            run.kernels = ((1ull << kernels) - 1) & ~(1ull << kernel);
            usleep(20000);
            _exit(kettle_migrate(kernel) == 0 && kettle_messages(&run) == 0 ? 0 : errno);
        }
        CHECK_EXITS(sender, 0);
        user = fork();
        if (user == 0)
            _exit(use_everything(kernel));
        CHECK_EXITS(user, 0);
        kill(victim, SIGKILL);
        waitpid(victim, NULL, WNOHANG); /* a victim may never end: its kernels do not agree any more */
    }
}

/* What an audit of the machine finds; *OTHERS: by another rule than that of opens, or it cannot be made. */
static int audit_opens(bool *others)
{
    static char report[32768];
    int violations = kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report));
    char *line = strtok(report, "\n"); /* the first one is the sum */

    *others = violations < 0;
    while (violations > 0 && (line = strtok(NULL, "\n")) != NULL)
        *others |= strncmp(line, "opens of a file:", 16) != 0;
    return violations;
}

static void test_opens(void)
{
    /* FILE_SHARE, FILE_TABLE_COPY, FILE_MAKE, FILE_NAMELESS, NAME_OPEN: the answer brings its asker opens */
    static const uint32_t types[] = {50, 52, 120, 260, 290};
    bool others = false;

    if (tap_skip_alone())
        return;
    for (int kernel = 1; kernel < kernels; kernel++) {
        pid_t victim = start_victim_here();

        for (size_t i = 0; i < TAP_COUNT(types); i++) {
            pid_t sender = fork();

            if (sender == 0) {
                run.size = (uint32_t)victim;
                run.kernels = 1;
                run.urgent = types[i] + 1;
                _exit(kettle_migrate(kernel) == 0 && kettle_messages(&run) == 0 ? 0 : errno);
            }
            CHECK_EXITS(sender, 0);
        }
        kill(victim, SIGKILL);
        CHECK_DIES(victim, SIGKILL);
    }
    CHECK(audit_opens(&others) > 0 && !others, "no open, or something else");
    for (int kernel = 1; kernel < kernels; kernel++)
        CHECK(kettle_kill(kernel, KETTLE_KILL_NOW) == 0, "%s", tap_error(errno));
    CHECK(audit_opens(&others) == 0, "kernels that have died have files open");
}

static void test_users(void)
{
    pid_t child = fork();

    if (child == 0) {
        run.kernels = 2;
        _exit(setuid(1000) == 0 && kettle_messages(&run) == -1 && errno == EPERM ? 0 : 1);
    }
    CHECK_EXITS(child, 0);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"users", "only root plays a hostile kernel", test_users},
        {"others", "kernels go on after messages of a hostile peer", test_others},
    };
    static const struct tap_test opens[] = {
        {"opens", "files that a hostile kernel has had opened are closed when it dies", test_opens},
    };

    kernels = kettle_kernels();
    if (tap_take(&argc, &argv, "opens")) {
        run.count = 60;
        return tap_run(1, argv, opens, TAP_COUNT(opens));
    }
    if (argc > 1)
        run.seed = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        run.count = (uint32_t)strtoul(argv[2], NULL, 10);
    if (argc > 3)
        run.urgent = (uint32_t)strtoul(argv[3], NULL, 10) + 1;
    return tap_run(1, argv, tests, kernels == 1 ? 1 : TAP_COUNT(tests));
}
