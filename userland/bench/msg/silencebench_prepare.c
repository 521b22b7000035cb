/* silencebench: what several cases begin with, and what all of them use. */
#include "userland/bench/msg/silencebench.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libc/kettle.h"

#define LARGE_FILE (512 * MIB)
#define SPARSE_PAGES 20000ul
#define SPARSE_STEP (64 * PAGE)
#define OPENERS 24 /* processes that have SILENCE_OPENED files each */

char *silence_memory;
int silence_file, silence_other;

_Noreturn void silence_fail(const char *what)
{
    fprintf(stderr, "silencebench: %s: %s\n", what, strerror(errno));
    _exit(STATUS_FAILED);
}

char *silence_map(size_t size, int flags)
{
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    if (at == MAP_FAILED)
        silence_fail("mmap");
    return at;
}

void silence_touch(char *at, size_t size)
{
    for (size_t i = 0; i < size; i += PAGE)
        at[i] = 1;
}

void silence_set_option(const char *option)
{
    if (kettle_control(option) != 0)
        silence_fail(option);
}

void silence_map_memory(void)
{
    silence_memory = silence_map(SILENCE_MEMORY, 0);
    if (madvise(silence_memory, SILENCE_MEMORY, MADV_NOHUGEPAGE) != 0)
        silence_fail("madvise");
}

void silence_fill_memory(void)
{
    silence_map_memory();
    silence_touch(silence_memory, SILENCE_MEMORY);
}

void silence_fill_elsewhere(void)
{
    int here = kettle_kernel();

    silence_map_memory();
    if (kettle_migrate((here + 1) % kettle_kernels()) != 0)
        silence_fail("kettle_migrate");
    silence_touch(silence_memory, SILENCE_MEMORY);
    if (kettle_migrate(here) != 0)
        silence_fail("kettle_migrate");
}

void silence_make_file(void)
{
    silence_memory = silence_map(SILENCE_FILE_SIZE, 0);
    silence_touch(silence_memory, SILENCE_FILE_SIZE);
    silence_file = open("/silence", O_RDWR | O_CREAT | O_TRUNC, 0600);
    silence_other = open("/silence2", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (silence_file < 0 || silence_other < 0)
        silence_fail("/silence");
    for (size_t at = 0; at < SILENCE_FILE_SIZE; at += MIB) {
        if (write(silence_file, silence_memory + at, MIB) != (ssize_t)MIB)
            silence_fail("write");
    }
    unlink("/silence");
    unlink("/silence2");
}

void silence_make_large_file(void)
{
    silence_make_file();
    for (size_t at = SILENCE_FILE_SIZE; at < LARGE_FILE; at += SILENCE_FILE_SIZE) {
        if (pwrite(silence_file, silence_memory, SILENCE_FILE_SIZE, (off_t)at) != (ssize_t)SILENCE_FILE_SIZE)
            silence_fail("pwrite");
    }
}

void silence_make_sparse_file(void)
{
    silence_make_file();
    for (size_t i = 1; i <= SPARSE_PAGES; i++) {
        if (pwrite(silence_file, silence_memory, 1, (off_t)(i * SPARSE_STEP)) != 1)
            silence_fail("pwrite");
    }
}

void silence_make_processes(void)
{
    for (int i = 0; i < 2000; i++) {
        pid_t child = fork();

        if (child < 0)
            silence_fail("fork");
        if (child == 0)
            _exit(0);
    }
}

void silence_make_processes_elsewhere(void)
{
    int here = kettle_kernel();

    if (kettle_migrate((here + 1) % kettle_kernels()) != 0)
        silence_fail("kettle_migrate");
    silence_make_processes();
    if (kettle_migrate(here) != 0)
        silence_fail("kettle_migrate");
}

void silence_make_openers(void)
{
    int ready[2], stay[2];
    char byte = 0;

    if (pipe(stay) != 0 || pipe(ready) != 0)
        silence_fail("pipe");
    for (int i = 0; i < OPENERS; i++) {
        pid_t child = fork();

        if (child < 0)
            silence_fail("fork");
        if (child == 0) {
            close(stay[1]);
            for (int k = 0; k < SILENCE_OPENED; k++) {
                if (open("/dev/null", O_RDONLY) < 0)
                    silence_fail("open");
            }
            (void)!write(ready[1], &byte, 1);
            (void)!read(stay[0], &byte, 1);
            _exit(0);
        }
        if (read(ready[0], &byte, 1) != 1)
            silence_fail("pipe");
    }
}

void silence_make_openers_elsewhere(void)
{
    int here = kettle_kernel();

    if (kettle_migrate((here + 1) % kettle_kernels()) != 0)
        silence_fail("kettle_migrate");
    silence_make_openers();
    if (kettle_migrate(here) != 0)
        silence_fail("kettle_migrate");
}

void *silence_sleep(void *unused)
{
    pause();
    return unused;
}

void silence_start_threads(int count, void *(*what)(void *unused))
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 4 * PAGE);
    for (int i = 0; i < count; i++) {
        errno = pthread_create(&thread, &attributes, what, NULL);
        if (errno != 0)
            silence_fail("pthread_create");
    }
}

void silence_make_threads(void)
{
    silence_start_threads(SILENCE_THREADS, silence_sleep);
}

void silence_kill_other(void)
{
    if (kettle_kill((kettle_kernel() + 1) % kettle_kernels(), KETTLE_KILL_NOW) != 0)
        silence_fail("kettle_kill");
}
