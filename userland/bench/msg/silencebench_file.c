/* silencebench: calls that read, write, cut and copy files, pipes and devices. */
#include "userland/bench/msg/silencebench.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIPE_FULL (128 * MIB)
#ifndef F_SETPIPE_SZ
#define F_SETPIPE_SZ 1031
#endif

static int pipes[2];
static struct iovec spans[1024];

/* 1024 spans of 1 MiB each, all of the same memory. */
static void make_spans(const char *path)
{
    char *at = silence_map(MIB, 0);

    silence_touch(at, MIB);
    for (int i = 0; i < 1024; i++)
        spans[i] = (struct iovec){at, MIB};
    silence_file = open(path, O_RDWR);
    if (silence_file < 0)
        silence_fail(path);
}

static void null_spans(void)
{
    make_spans("/dev/null");
}

static void zero_spans(void)
{
    make_spans("/dev/zero");
}

static void write_spans(void)
{
    if (writev(silence_file, spans, 1024) <= 0)
        silence_fail("writev");
}

static void read_spans(void)
{
    if (readv(silence_file, spans, 64) <= 0)
        silence_fail("readv");
}

static void read_file(void)
{
    if (pread(silence_file, silence_memory, SILENCE_FILE_SIZE, 0) != (ssize_t)SILENCE_FILE_SIZE)
        silence_fail("pread");
}

static void write_file(void)
{
    if (pwrite(silence_other, silence_memory, SILENCE_FILE_SIZE, 0) != (ssize_t)SILENCE_FILE_SIZE)
        silence_fail("pwrite");
}

static void send_file(void)
{
    off_t at = 0;

    if (sendfile(silence_other, silence_file, &at, SILENCE_FILE_SIZE) != (ssize_t)SILENCE_FILE_SIZE)
        silence_fail("sendfile");
}

static void truncate_file(void)
{
    if (ftruncate(silence_file, 0) != 0)
        silence_fail("ftruncate");
}

/* All pages but the first. */
static void cut_large_file(void)
{
    if (ftruncate(silence_file, PAGE) != 0)
        silence_fail("ftruncate");
}

static void random_bytes(void)
{
    if (getrandom(silence_memory, SILENCE_MEMORY, 0) < 0)
        silence_fail("getrandom");
}

/* A pipe of PIPE_FULL bytes that is full. */
static void fill_pipe(void)
{
    silence_memory = silence_map(SILENCE_FILE_SIZE, 0);
    if (pipe(pipes) != 0 || fcntl(pipes[1], F_SETPIPE_SZ, PIPE_FULL) < 0)
        silence_fail("pipe");
    for (size_t left = PIPE_FULL; left > 0; left -= SILENCE_FILE_SIZE) {
        if (write(pipes[1], silence_memory, SILENCE_FILE_SIZE) != (ssize_t)SILENCE_FILE_SIZE)
            silence_fail("write");
    }
}

static void resize_pipe(void)
{
    if (fcntl(pipes[1], F_SETPIPE_SZ, 8 * PIPE_FULL) < 0 || fcntl(pipes[1], F_SETPIPE_SZ, PIPE_FULL) < 0)
        silence_fail("F_SETPIPE_SZ");
}

static void close_pipe(void)
{
    close(pipes[0]);
    close(pipes[1]);
}

const struct silence_case silence_of_file[] = {
    {"writev", "writev of 1 GiB to /dev/null", null_spans, write_spans, ANY_KERNEL},
    {"readv", "readv of 64 MiB of /dev/zero", zero_spans, read_spans, ANY_KERNEL},
    {"read_file", "pread of a file of 32 MiB", silence_make_file, read_file, ANY_KERNEL},
    {"write_file", "pwrite of 32 MiB", silence_make_file, write_file, ANY_KERNEL},
    {"sendfile", "sendfile of 32 MiB", silence_make_file, send_file, ANY_KERNEL},
    {"truncate", "ftruncate of a file of 32 MiB", silence_make_file, truncate_file, ANY_KERNEL},
    {"cut_file", "ftruncate of a file of 512 MiB to a page", silence_make_large_file, cut_large_file, ANY_KERNEL},
    {"cut_sparse", "ftruncate of a file of 20,000 pages, 64 pages from each other", silence_make_sparse_file,
     truncate_file, ANY_KERNEL},
    {"getrandom", "getrandom of 48 MiB", silence_map_memory, random_bytes, ANY_KERNEL},
    {"setpipe", "F_SETPIPE_SZ of a full pipe of 128 MiB, to 1 GiB and back", fill_pipe, resize_pipe, ANY_KERNEL},
    {"closepipe", "close of a full pipe of 128 MiB", fill_pipe, close_pipe, ANY_KERNEL},
    {0},
};
