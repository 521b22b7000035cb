/* Which times of a file, and of its directory, each call changes. */
#include "abi.h"

static struct stat before, after, folder_before, folder_after;
static int file, ends[2];
static char data[64];

static void mark(void)
{
    struct timespec times[2] = {{1000, 0}, {2000, 0}}, now;

    MUST(utimensat(AT_FDCWD, "d", times, 0));
    MUST(futimens(file, times));
    MUST(fstat(file, &before));
    MUST(stat("d", &folder_before));
    do /* files have the time of the last tick */
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    while (now.tv_sec == before.st_ctim.tv_sec && now.tv_nsec == before.st_ctim.tv_nsec);
}
static bool later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec || a->tv_nsec != b->tv_nsec;
}
static void tell(const char *what, const struct stat *a, const struct stat *b)
{
    printf(" %s%s%s%s", what, later(&a->st_atim, &b->st_atim) ? "a" : "-", later(&a->st_mtim, &b->st_mtim) ? "m" : "-",
           later(&a->st_ctim, &b->st_ctim) ? "c" : "-");
}
#define AFTER(call) after_call(#call, (mark(), errno = 0, (long)(call)))
static void after_call(const char *what, long value)
{
    printf("%s: %s", what, value < 0 ? errno_name(errno) : "done");
    MUST(fstat(file, &after));
    MUST(stat("d", &folder_after));
    tell("", &before, &after);
    tell("directory ", &folder_before, &folder_after);
    printf("\n");
}
int main(void)
{
    struct iovec part = {data, 3};
    loff_t zero = 0;
    struct stat facts;
    int other;
    DIR *list;

    MUST(mkdir("d", 0755));
    file = (int)MUST(open("d/f", O_RDWR | O_CREAT, 0644));
    other = (int)MUST(open("other", O_RDWR | O_CREAT, 0644));
    MUST(pwrite(file, "0123456789", 10, 0));
    MUST(pwrite(other, "0123456789", 10, 0));
    MUST(pipe(ends));
    AFTER(read(file, data, 3));
    AFTER(pread(file, data, 0, 0));
    AFTER(pread(file, data, 3, 100));
    AFTER(pread(file, (void *)8, 3, 0));
    AFTER(pwrite(file, "x", 1, 0));
    AFTER(pwrite(file, "x", 0, 0));
    AFTER(writev(file, &part, 1));
    AFTER(ftruncate(file, 20));
    AFTER(ftruncate(file, 20));
    AFTER(truncate("d/f", 20));
    AFTER(truncate("d/f", 10));
    AFTER(fallocate(file, 0, 0, 5));
    AFTER(fallocate(file, 0, 0, 5000));
    AFTER(fallocate(file, FALLOC_FL_KEEP_SIZE, 0, 50000));
    AFTER(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
    AFTER(sendfile(ends[1], file, &(off_t){0}, 3));
    AFTER(sendfile(file, other, &(off_t){0}, 3));
    AFTER(splice(file, &zero, ends[1], NULL, 3, 0));
    zero = 0;
    AFTER(splice(ends[0], NULL, file, &zero, 3, 0));
    zero = 0;
    AFTER(copy_file_range(other, &zero, file, NULL, 3, 0));
    zero = 0;
    AFTER(copy_file_range(file, &zero, other, NULL, 3, 0));
    AFTER(fchmod(file, 0600));
    AFTER(chmod("d/f", 0600));
    AFTER(fchown(file, -1, -1));
    AFTER(fchown(file, 0, 0));
    AFTER(fsetxattr(file, "trusted.a", "x", 1, 0));
    AFTER(fgetxattr(file, "trusted.a", data, 8));
    AFTER(fremovexattr(file, "trusted.a"));
    AFTER(link("d/f", "d/g"));
    AFTER(rename("d/g", "d/h"));
    AFTER(rename("d/h", "outside"));
    AFTER(unlink("outside"));
    AFTER(link("d/f", "outside"));
    AFTER(rename("outside", "d/f"));
    AFTER(unlink("outside"));
    AFTER(symlink("f", "d/s"));
    AFTER(readlink("d/s", data, 10));
    AFTER(open("d/s", O_RDONLY));
    AFTER(open("d/f", O_WRONLY | O_TRUNC));
    AFTER(open("d/f", O_WRONLY | O_TRUNC));
    AFTER(open("d/f", O_RDWR | O_CREAT, 0600));
    AFTER(open("d/f", O_RDWR | O_CREAT | O_EXCL, 0600));
    AFTER(open("d/new", O_RDWR | O_CREAT, 0600));
    AFTER(unlink("d/none"));
    AFTER(mkdir("d/e", 0700));
    AFTER(rmdir("d/e"));
    AFTER(mkdir("d", 0700));
    AFTER(stat("d/f", &facts));
    AFTER(access("d/f", R_OK));
    AFTER(lseek(file, 0, SEEK_END));
    AFTER(fsync(file));
    AFTER(mknod("d/fifo", S_IFIFO | 0600, 0));
    MUST((long)(list = opendir("d")));
    AFTER(readdir(list) != NULL ? 0 : -1);
    AFTER(flock(file, LOCK_EX));
    AFTER(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED ? -1 : 0);
    AFTER(utimensat(AT_FDCWD, "d/f", (struct timespec[2]){{0, UTIME_OMIT}, {0, UTIME_OMIT}}, 0));
    AFTER(utimensat(AT_FDCWD, "d/f", (struct timespec[2]){{0, UTIME_OMIT}, {0, UTIME_NOW}}, 0));
    return 0;
}
