/* test-hostname: the machine's names are the same on every kernel, and what /proc says of a process's memory. A Linux
 * program but for where it runs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"

static void expect_file(const char *path, const char *name)
{
    char text[80] = "", wanted[80];
    int fd = open(path, O_RDONLY);

    snprintf(wanted, sizeof(wanted), "%s\n", name);
    CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strcmp(text, wanted) == 0, "%s has \"%s\"", path, text);
    close(fd);
}

static void test_names(void)
{
    struct utsname before, now;
    char longest[65];

    if (!CHECK(uname(&before) == 0, "uname: %s", strerror(errno)))
        return;
    for (int k = 0; k < kernels_count(); k++) {
        char host[32], domain[32];

        snprintf(host, sizeof(host), "host-%d", k);
        snprintf(domain, sizeof(domain), "domain.%d", k);
        kernels_go(k);
        CHECK(sethostname(host, strlen(host)) == 0, "kernel %d: %s", k, strerror(errno));
        CHECK(setdomainname(domain, strlen(domain)) == 0, "kernel %d: %s", k, strerror(errno));
        kernels_go(k + 1);
        CHECK(uname(&now) == 0 && strcmp(now.nodename, host) == 0 && strcmp(now.domainname, domain) == 0,
              "kernel %d set it, it is %s and %s", k, now.nodename, now.domainname);
        expect_file("/proc/sys/kernel/hostname", host);
        expect_file("/proc/sys/kernel/domainname", domain);
    }
    memset(longest, 'n', 64);
    longest[64] = '\0';
    CHECK(sethostname(longest, 64) == 0 && uname(&now) == 0 && strcmp(now.nodename, longest) == 0, "it is %s",
          now.nodename);
    CHECK_ERROR(sethostname(longest, 65), EINVAL);
    CHECK_ERROR(sethostname((const char *)TAP_UNMAPPED, 3), EFAULT);
    CHECK(sethostname("", 0) == 0 && uname(&now) == 0 && now.nodename[0] == '\0', "it is %s", now.nodename);
    sethostname(before.nodename, strlen(before.nodename));
    setdomainname(before.domainname, strlen(before.domainname));
    kernels_go(0);
}

/* How much memory smaps says that the area at AT has, in KiB; -1: it says nothing. */
static long resident(const char *at, pid_t process)
{
    char line[256], start[32], path[64];
    bool here = false;
    long kb = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/smaps", (int)process);
    snprintf(start, sizeof(start), "%lx-", (unsigned long)at);
    file = fopen(path, "r");
    while (file != NULL && kb < 0 && fgets(line, sizeof(line), file) != NULL) {
        here = here || strncmp(line, start, strlen(start)) == 0;
        if (here && strncmp(line, "Rss:", 4) == 0)
            kb = strtol(line + 4, NULL, 10);
    }
    if (file != NULL)
        fclose(file);
    return kb;
}

/* A process on one kernel, seen from another. */
static void test_process(void)
{
    char path[64], own[4096], other[4096];
    /* nothing joins it on either side */
    char *at = spread_memory_map(18, PRIVATE) + PAGE;

    mprotect(at - PAGE, PAGE, PROT_NONE);
    mprotect(at + 16 * PAGE, PAGE, PROT_NONE);
    spread_memory_fill(at, 0, 8, 1);
    for (int k = 0; k < kernels_count(); k++) {
        ssize_t size[2];
        int ready[2], fds[2];
        pid_t child;
        char byte;

        kernels_go(k);
        if (!CHECK(pipe(ready) == 0, "pipe: %s", strerror(errno)))
            return;
        child = fork();
        if (child == 0) {
            kernels_go(k + 1);
            at[9 * PAGE] = 1;
            (void)!write(ready[1], "r", 1);
            for (;;)
                pause();
        }
        CHECK(read(ready[0], &byte, 1) == 1, "the child is ready");
        kernels_go(k + 2);
        CHECK(resident(at, child) == 36, "kernel %d: %ld KiB", k, resident(at, child));
        snprintf(path, sizeof(path), "/proc/%d/environ", (int)child);
        fds[0] = open("/proc/self/environ", O_RDONLY);
        fds[1] = open(path, O_RDONLY);
        size[0] = read(fds[0], own, sizeof(own));
        size[1] = read(fds[1], other, sizeof(other));
        CHECK(size[0] > 0 && size[0] == size[1] && memcmp(own, other, (size_t)size[0]) == 0, "environment: %ld and %ld",
              (long)size[0], (long)size[1]);
        close(fds[0]);
        close(fds[1]);
        snprintf(path, sizeof(path), "/proc/%d/limits", (int)child);
        fds[0] = open(path, O_RDONLY);
        size[0] = read(fds[0], own, sizeof(own) - 1);
        own[size[0] > 0 ? size[0] : 0] = '\0';
        CHECK(strstr(own, "\nMax open files ") != NULL && strstr(own, "\nMax realtime timeout ") != NULL, "limits: %s",
              own);
        close(fds[0]);
        kill(child, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child, "its end");
        close(ready[0]);
        close(ready[1]);
    }
    CHECK(resident(at, getpid()) == 32, "%ld KiB", resident(at, getpid()));
    munmap(at - PAGE, 18 * PAGE);
    kernels_go(0);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"names", "host and domain names are what any kernel set last", test_names},
        {"process", "/proc shows a process's memory, environment and limits", test_process}};

    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
