/* Opens with O_TRUNC through other names of an open file: /dev/fd, another process's, a thread's, those of other kinds.
 */
#include "abi.h"

static int file;

static void fill(int fd)
{
    MUST(pwrite(fd, "content", 7, 0));
}
static long size_of(int fd)
{
    struct stat facts;

    MUST(fstat(fd, &facts));
    return (long)facts.st_size;
}
static void through(const char *format, long a, long b, int flags)
{
    char name[64];
    int fd;

    fill(file);
    snprintf(name, sizeof(name), format, a, b);
    fd = open(name, flags);
    printf("%s: %s, size %ld\n", format, fd < 0 ? errno_name(errno) : "opened", size_of(file));
    if (fd >= 0)
        close(fd);
}
static int child(void)
{
    for (;;)
        pause();
}
static int as_user(void)
{
    MUST(setuid(1234));
    through("/proc/self/fd/%ld", file, 0, O_WRONLY | O_TRUNC);
    through("/proc/self/fd/%ld", file, 0, O_RDONLY | O_TRUNC);
    through("/proc/self/fd/%ld", file, 0, O_RDONLY);
    return 0;
}
static void names(void)
{
    char name[64];
    pid_t other;

    fill(file);
    through("/proc/self/fd/%ld", file, 0, O_RDONLY | O_TRUNC);
    through("/dev/fd/%ld", file, 0, O_WRONLY | O_TRUNC);
    through("/proc/thread-self/fd/%ld", file, 0, O_WRONLY | O_TRUNC);
    through("/proc/self/task/%ld/fd/%ld", gettid(), file, O_WRONLY | O_TRUNC);
    other = spawn(child);
    through("/proc/%ld/fd/%ld", other, file, O_WRONLY | O_TRUNC);
    through("/proc/self/fd/%ld", file, 0, O_WRONLY | O_TRUNC | O_NOFOLLOW);
    through("/proc/self/fd/%ld", file, 0, O_PATH | O_TRUNC);
    through("/proc/self/fd/%ld", file, 0, O_WRONLY | O_TRUNC | O_DIRECTORY);
    through("/proc/self/fd/%ld", 99, 0, O_WRONLY | O_TRUNC);
    fill(file);
    snprintf(name, sizeof(name), "/proc/%d/fd/%d", other, file);
    CALL(truncate(name, 3));
    SHOW(size_of(file));
    CALL(access(name, W_OK));
    CALL(chmod(name, 0640));
    CALL(chown(name, 1234, -1));
    reap(spawn(as_user));
    CALL(chmod(name, 0400));
    reap(spawn(as_user));
    CALL(chown(name, 0, -1));
    reap(spawn(as_user));
    MUST(kill(other, SIGKILL));
    reap(other);
}
int main(void)
{
    int ends[2];

    file = (int)MUST(memfd_create("memory", 0));
    printf("memory\n");
    names();
    file = (int)MUST(open("file", O_RDWR | O_CREAT, 0600));
    printf("file\n");
    names();
    MUST(unlink("file"));
    printf("without a name\n");
    names();
    close(file);
    file = (int)MUST(open("folder", O_RDONLY) < 0 ? mkdir("folder", 0755) : 0);
    file = (int)MUST(open("folder", O_RDONLY));
    CALL(open("/proc/self/exe", O_WRONLY | O_TRUNC));
    CALL(truncate("/proc/self/exe", 0));
    MUST(pipe(ends));
    MUST(write(ends[1], "abc", 3));
    {
        char name[64];
        int fd;

        snprintf(name, sizeof(name), "/proc/self/fd/%d", ends[1]);
        fd = open(name, O_WRONLY | O_TRUNC);
        printf("pipe: %s\n", fd < 0 ? errno_name(errno) : "opened");
        CALL(truncate(name, 0));
        MUST(ioctl(ends[0], FIONREAD, &fd));
        SHOW(fd);
        snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
        CALL(open(name, O_WRONLY | O_TRUNC));
        CALL(truncate(name, 0));
        snprintf(name, sizeof(name), "/proc/self/fd/%d", (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)));
        CALL(open(name, O_RDWR | O_TRUNC));
    }
    return 0;
}
