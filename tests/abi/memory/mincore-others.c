/* Which pages of a file are in memory is told to its owner and to those who may write to it; others see all. */
#include "abi.h"

#include <grp.h>
#include <sys/fsuid.h>

static int file;

static void tell(const char *what, void *at, int pages)
{
    unsigned char in[8];

    MUST(mincore(at, (size_t)pages * PAGE, in));
    printf("%s:", what);
    for (int i = 0; i < pages; i++)
        printf(" %d", in[i] & 1);
    printf("\n");
}
static void *map(int flags, int fd)
{
    void *at = mmap(NULL, 4 * PAGE, PROT_READ, flags, fd, 0);

    MUST((long)at);
    return at;
}
static int as_user(void)
{
    gid_t group = 777;
    char *both;

    MUST(setgroups(1, &group));
    MUST(setgid(1234));
    MUST(setuid(1234));
    tell("shared", map(MAP_SHARED, file), 4);
    tell("private", map(MAP_PRIVATE, file), 4);
    both = map(MAP_SHARED | MAP_ANONYMOUS, -1);
    tell("anonymous", both, 4);
    MUST((long)mmap(both + PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file, 2 * PAGE));
    tell("both", both, 4);
    return 0;
}
/* Files see root, although the effective user is another. */
static int as_root_of_files(void)
{
    void *at = map(MAP_SHARED, file);
    unsigned char before[4], after[4];

    MUST(setgroups(0, NULL));
    MUST(setresuid(0, 1234, 0));
    MUST(mincore(at, 4 * PAGE, before));
    setfsuid(0);
    MUST(mincore(at, 4 * PAGE, after));
    printf("before: %d, after: %d\n", before[0] & 1, after[0] & 1);
    return 0;
}
static void one(const char *what, mode_t mode, uid_t uid, gid_t gid)
{
    printf("%s\n", what);
    MUST(fchown(file, uid, gid));
    MUST(fchmod(file, mode));
    reap(spawn(as_user));
}
int main(void)
{
    int id, writable;
    char *at;

    writable = (int)MUST(open("file", O_RDWR | O_CREAT, 0600));
    MUST(ftruncate(writable, 4 * PAGE));
    MUST(pwrite(writable, "x", 1, PAGE));
    file = (int)MUST(open("file", O_RDONLY));
    one("readable", 0644, 0, 0);
    one("of nobody", 0, 0, 0);
    one("writable", 0602, 0, 0);
    one("of the owner, who may only read", 0400, 1234, 0);
    one("writable by a group of his", 0620, 0, 777);
    one("by another group", 0620, 0, 778);
    tell("root", map(MAP_SHARED, file), 4);
    printf("root for files\n");
    MUST(fchown(file, 1235, 1235));
    MUST(fchmod(file, 0600));
    reap(spawn(as_root_of_files));
    file = (int)MUST(memfd_create("memory", 0));
    MUST(ftruncate(file, 4 * PAGE));
    MUST(pwrite(file, "x", 1, 2 * PAGE));
    printf("memfd\n");
    reap(spawn(as_user));
    id = (int)MUST(shmget(IPC_PRIVATE, 4 * PAGE, 0644));
    MUST((long)(at = shmat(id, NULL, 0)));
    at[PAGE] = 1;
    fflush(stdout);
    if (fork() == 0) {
        MUST(setuid(1234));
        MUST((long)(at = shmat(id, NULL, SHM_RDONLY)));
        tell("segment", at, 4);
        _exit(0);
    }
    MUST(wait(NULL));
    MUST(shmctl(id, IPC_RMID, NULL));
    return 0;
}
