/* mmap sets a file's atime, the first write to a page of a shared mapping its mtime and ctime.
 *
 * Reads and private writes through the mapping change no time. */
#include "abi.h"

static struct stat before, after;

static void mark(const char *name)
{
    struct timespec times[2] = {{1000, 0}, {2000, 0}}, now;

    MUST(utimensat(AT_FDCWD, name, times, 0));
    MUST(stat(name, &before));
    do /* files have the time of the last tick */
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    while (now.tv_sec == before.st_ctim.tv_sec && now.tv_nsec == before.st_ctim.tv_nsec);
}
static void tell(const char *what, const char *name)
{
    MUST(stat(name, &after));
    printf("%s: atime %s, mtime %s, ctime %s\n", what, after.st_atim.tv_sec == before.st_atim.tv_sec ? "kept" : "new",
           after.st_mtim.tv_sec == before.st_mtim.tv_sec ? "kept" : "new",
           after.st_ctim.tv_sec == before.st_ctim.tv_sec && after.st_ctim.tv_nsec == before.st_ctim.tv_nsec ? "kept"
                                                                                                            : "new");
}
static int writes(void)
{
    volatile char *at;
    int fd = (int)MUST(open("b", O_RDWR));

    go(1);
    MUST((long)(at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)));
    mark("b");
    at[1] = 'y';
    tell("written by a child", "b");
    return 0;
}
static void shared(void)
{
    volatile char *at;
    int fd;

    put_file("b", "text");
    fd = (int)MUST(open("b", O_RDWR));
    MUST(ftruncate(fd, 40 * PAGE));
    MUST((long)(at = mmap(NULL, 40 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)));
    mark("b");
    at[0] = 'x';
    tell("written", "b");
    mark("b");
    at[1] = 'x';
    tell("written again", "b");
    at[20 * PAGE] = 'x';
    tell("another page written", "b");
    mark("b");
    MUST(msync((void *)at, 40 * PAGE, MS_SYNC));
    tell("synchronized", "b");
    reap(spawn(writes));
    mark("b");
    MUST(pread(fd, (void *)(at + 39 * PAGE), 4, 0));
    tell("written by a call", "b");
    MUST(munmap((void *)at, 40 * PAGE));
    mark("b");
    MUST((long)(at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0)));
    mark("b");
    MUST(mprotect((void *)at, PAGE, PROT_READ | PROT_WRITE));
    at[2] = 'z';
    tell("written after mprotect", "b");
}
int main(void)
{
    volatile char *at;
    int fd;

    put_file("a", "text");
    fd = (int)MUST(open("a", O_RDWR));
    mark("a");
    at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    tell("mapped", "a");
    mark("a");
    (void)at[0];
    tell("read", "a");
    MUST(munmap((void *)at, PAGE));
    tell("unmapped", "a");
    at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    tell("mapped private", "a");
    mark("a");
    at[0] = 'x';
    tell("written in private", "a");
    at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    tell("mapped for reading", "a");
    shared();
    return 0;
}
