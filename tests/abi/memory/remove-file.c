/* MADV_REMOVE of a shared mapping of a file makes a hole in the file, whoever maps it. */
#include "abi.h"

#define PAGES 6
static char *map;
static int file;
static atomic_int *step;

static void fill(void)
{
    for (long i = 0; i < PAGES; i++)
        memset(map + i * PAGE, 'a' + (int)i, PAGE);
}
static void tell(const char *what, const char *at, int pages)
{
    printf("%s:", what);
    for (int i = 0; i < pages; i++)
        printf(" %d", at[i * PAGE + 5]);
    printf("\n");
}
static void until(int value)
{
    while (atomic_load(step) < value)
        sched_yield();
}

/* Another process, on another CPU, that has the pages mapped, and a private copy of one. */
static int child(void)
{
    char *own, *shared;

    go(1);
    MUST((long)(own = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0)));
    MUST((long)(shared = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)));
    tell("child", shared, PAGES);
    own[2 * PAGE + 5] = 'x';
    fflush(stdout);
    atomic_store(step, 1);
    until(2);
    tell("child after", shared, PAGES);
    tell("child inherited", map, PAGES);
    tell("child private after", own, PAGES);
    shared[2 * PAGE + 5] = 'y';
    return 0;
}
static void *thread(void *unused)
{
    go(2);
    CALL(madvise(map + 4 * PAGE, PAGE, MADV_REMOVE));
    return unused;
}
static void of_memory(void)
{
    struct stat facts, before;
    char byte;
    pid_t other;

    file = (int)MUST(memfd_create("memory", MFD_ALLOW_SEALING));
    MUST(ftruncate(file, PAGES * PAGE));
    MUST((long)(map = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)));
    fill();
    other = spawn(child);
    until(1);
    MUST(fstat(file, &before));
    CALL(madvise(map + PAGE, 2 * PAGE, MADV_REMOVE));
    MUST(fstat(file, &facts));
    SHOW(facts.st_size);
    SHOW(before.st_blocks - facts.st_blocks);
    tell("here", map, PAGES);
    MUST(pread(file, &byte, 1, 2 * PAGE + 5));
    SHOW(byte);
    atomic_store(step, 2);
    reap(other);
    tell("written by the child", map, PAGES);
    pthread_join(start(thread, NULL), NULL);
    tell("by a thread", map, PAGES);
    CALL(madvise(map + 1, PAGE, MADV_REMOVE));
    MUST(mprotect(map, PAGE, PROT_READ));
    CALL(madvise(map, PAGE, MADV_REMOVE));
    tell("not writable", map, PAGES);
    MUST(mlock(map + 3 * PAGE, PAGE));
    CALL(madvise(map + 2 * PAGE, 4 * PAGE, MADV_REMOVE));
    tell("up to a locked page", map, PAGES);
    MUST(munlock(map + 3 * PAGE, PAGE));
    CALL(fcntl(file, F_ADD_SEALS, 0x10)); /* F_SEAL_FUTURE_WRITE */
    CALL(madvise(map + 3 * PAGE, PAGE, MADV_REMOVE));
    tell("sealed", map, PAGES);
    MUST(munmap(map, PAGES * PAGE));
    close(file);
}
static void of_name(void)
{
    struct timespec times[2] = {{1000, 0}, {2000, 0}};
    struct stat facts;
    char *both, *read_only;
    int inotify = (int)MUST(inotify_init1(IN_NONBLOCK));
    struct inotify_event event;

    put_file("file", "");
    file = (int)MUST(open("file", O_RDWR));
    MUST(ftruncate(file, 3 * PAGE - 100));
    both = MAP(8 * PAGE, MAP_SHARED);
    MUST((long)mmap(both + PAGE, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0));
    MUST(munmap(both + 5 * PAGE, PAGE));
    memset(both, 'a', PAGE);
    memset(both + PAGE, 'b', 3 * PAGE);
    memset(both + 4 * PAGE, 'c', PAGE);
    memset(both + 6 * PAGE, 'd', 2 * PAGE);
    MUST(utimensat(AT_FDCWD, "file", times, 0));
    MUST(inotify_add_watch(inotify, "file", IN_MODIFY));
    CALL(madvise(both, 7 * PAGE, MADV_REMOVE));
    tell("anonymous and file", both, 5);
    tell("behind the gap", both + 6 * PAGE, 2);
    MUST(fstat(file, &facts));
    SHOW(facts.st_size);
    SHOW(facts.st_blocks);
    SHOW(facts.st_mtim.tv_sec == 2000);
    SHOW(read(inotify, &event, sizeof(event)) == sizeof(event) && event.mask == IN_MODIFY);
    CALL(ftruncate(file, PAGE));
    CALL(madvise(both + PAGE, 3 * PAGE, MADV_REMOVE));
    MUST((long)(read_only = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, (int)MUST(open("file", O_RDONLY)), 0)));
    CALL(madvise(read_only, PAGE, MADV_REMOVE));
    MUST((long)mmap(both + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0));
    both[0] = both[PAGE] = 'e';
    CALL(madvise(both, 4 * PAGE, MADV_REMOVE));
    SHOW(both[0]);
    SHOW(both[PAGE]);
    close(inotify);
}
static void of_segment(void)
{
    int id = (int)MUST(shmget(IPC_PRIVATE, 3 * PAGE, 0600));
    char *at = shmat(id, NULL, 0), *again = shmat(id, NULL, 0), *read_only = shmat(id, NULL, SHM_RDONLY);

    memset(at, 'a', 3 * PAGE);
    CALL(madvise(at + PAGE, PAGE, MADV_REMOVE));
    tell("segment", again, 3);
    CALL(madvise(read_only, PAGE, MADV_REMOVE));
    tell("segment", read_only, 3);
    CALL(shmctl(id, IPC_RMID, NULL));
}
int main(void)
{
    step = (atomic_int *)(void *)MAP(PAGE, MAP_SHARED);
    of_memory();
    of_name();
    of_segment();
    return 0;
}
