/* What tests ask of the machine below them. tests/guest/harness/tap.h is the contract. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

bool tap_on_kettle(void)
{
    return syscall(KETTLE_CALL_KERNELS) >= 0;
}

int tap_kernels(int kernels[64])
{
    int count = 0;

    for (int kernel = 0; kernel < kettle_kernels() && count < 64; kernel++) {
        if (kettle_started(kernel) == 1)
            kernels[count++] = kernel;
    }
    return count;
}

/* As in /proc; 0 if there is none. */
static char state_of(pid_t process, long thread)
{
    char path[64], text[512];
    const char *name_end;
    ssize_t size = -1;
    int file;

    snprintf(path, sizeof(path), "/proc/%d/task/%ld/stat", process != 0 ? process : getpid(), thread);
    file = (int)x86_syscall3(SYS_open, (long)path, O_RDONLY, 0);
    if (file >= 0) {
        size = x86_syscall3(SYS_read, file, (long)text, sizeof(text) - 1);
        x86_syscall1(SYS_close, file);
    }
    if (size <= 0)
        return 0;
    text[size] = '\0';
    name_end = strrchr(text, ')');
    return (char)(name_end != NULL && name_end[1] == ' ' ? name_end[2] : 0);
}

bool tap_sleeps(pid_t process, long thread)
{
    return state_of(process, thread) == 'S';
}

bool tap_stands(pid_t process, long thread)
{
    return state_of(process, thread) == 'T';
}

long tap_settled(long (*count)(void), long noise)
{
    static const struct timespec step = {.tv_nsec = 20000000};
    int64_t begin = tap_time();
    long first = count();

    for (int same = 0; same < 10 && tap_time() - begin < TAP_PATIENCE; same++) {
        long now;

        nanosleep(&step, NULL);
        now = count();
        if (labs(now - first) > noise) {
            first = now;
            same = -1;
        }
    }
    return first;
}

int64_t tap_time(void)
{
    struct timespec time = {0};

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

uint64_t tap_random(uint64_t *state)
{
    uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}
