/* What mlockall locks counts for RLIMIT_MEMLOCK, also what is mapped later; threads that lock at once do not pass it.
 */
#include "abi.h"

#define KB 1024L
#define THREADS 4
#define TRIES 64
static char *memory;
static pthread_barrier_t barrier;
static atomic_int locked_pages, refused;

/* Without memory of the library's, which would be locked, too. */
static long locked(void)
{
    static char text[4096];
    int fd = (int)MUST(open("/proc/self/status", O_RDONLY));
    ssize_t count = MUST(read(fd, text, sizeof(text) - 1));
    const char *line;

    text[count] = '\0';
    close(fd);
    line = strstr(text, "VmLck:");
    return line != NULL ? strtol(line + 6, NULL, 10) : -1;
}
static void tell_map(const char *what, void *at)
{
    printf("%s: %s\n", what, at == MAP_FAILED ? errno_name(errno) : "mapped");
}
static void limit_to(long kb)
{
    struct rlimit limit = {(rlim_t)(kb * KB), (rlim_t)(1024 * KB)};

    MUST(setrlimit(RLIMIT_MEMLOCK, &limit));
}
static void *map(long kb, int flags)
{
    return mmap(NULL, (size_t)(kb * KB), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}
static bool resident(void *at)
{
    unsigned char there = 0;

    MUST(mincore(at, PAGE, &there));
    return there & 1;
}

/* Only later mappings: exact counts. */
static int later(void)
{
    char *at, *other;
    void *end;

    limit_to(64);
    MUST(setuid(1234));
    other = map(32, 0);
    other[0] = 'x';
    end = sbrk(0);
    CALL(mlockall(MCL_FUTURE));
    SHOW(locked());
    tell_map("32 KiB", at = map(32, 0));
    SHOW(locked());
    SHOW(resident(at + 28 * KB));
    tell_map("36 KiB", map(36, 0));
    tell_map("over a mapping", mmap(other, 36 * KB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    SHOW(other[0] == 'x');
    tell_map("grown", mremap(at, 32 * KB, 68 * KB, MREMAP_MAYMOVE));
    SHOW(locked());
    tell_map("grown", at = mremap(at, 32 * KB, 48 * KB, MREMAP_MAYMOVE));
    SHOW(locked());
    tell_map("moved", at = mremap(at, 48 * KB, 48 * KB, MREMAP_MAYMOVE | MREMAP_FIXED, memory));
    SHOW(locked());
    CALL(brk((char *)end + 32 * KB));
    SHOW(sbrk(0) == end);
    CALL(brk((char *)end + 8 * KB));
    SHOW(locked());
    SHOW(resident((char *)(((uintptr_t)end + PAGE - 1) / PAGE * PAGE)));
    CALL(brk(end));
    SHOW(locked());
    CALL(munmap(at, 16 * KB));
    SHOW(locked());
    CALL(munlockall());
    SHOW(locked());
    tell_map("not locked", map(512, 0));
    SHOW(locked());
    CALL(mlockall(MCL_FUTURE | MCL_ONFAULT));
    tell_map("on fault", at = map(8, 0));
    SHOW(locked());
    SHOW(resident(at));
    tell_map("too large", map(68, 0));
    CALL(mlockall(MCL_CURRENT)); /* which is too much, and so MCL_FUTURE stays */
    SHOW(locked());
    tell_map("locked", map(4, 0));
    SHOW(locked());
    limit_to(0);
    tell_map("no limit left", map(4, 0));
    tell_map("MAP_LOCKED", map(4, MAP_LOCKED));
    CALL(mlock(memory, 0));
    CALL(mlock2(memory, PAGE, MLOCK_ONFAULT));
    CALL(mlockall(MCL_CURRENT));
    CALL(munlockall());
    tell_map("not locked", map(4, 0));
    return 0;
}
/* The whole process, of which the size is not known. */
static int current(void)
{
    struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY}, some = {0, RLIM_INFINITY};
    long size = 0;
    char line[256];
    FILE *file;

    MUST(setrlimit(RLIMIT_MEMLOCK, &none));
    MUST(setuid(1234));
    file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        sscanf(line, "VmSize: %ld", &size);
    if (file != NULL)
        fclose(file);
    some.rlim_cur = (rlim_t)(size * KB - 64 * KB);
    MUST(setrlimit(RLIMIT_MEMLOCK, &some));
    CALL(mlockall(MCL_CURRENT));
    CALL(mlockall(MCL_CURRENT | MCL_FUTURE));
    SHOW(locked());
    tell_map("MCL_FUTURE has no effect", map(4, 0));
    SHOW(locked());
    some.rlim_cur = (rlim_t)(size * KB + 1024 * KB);
    MUST(setrlimit(RLIMIT_MEMLOCK, &some));
    CALL(mlockall(MCL_CURRENT | MCL_FUTURE));
    SHOW(locked() > 0);
    tell_map("too large", map(2048, 0));
    tell_map("locked", map(64, 0));
    CALL(munlockall());
    SHOW(locked());
    return 0;
}
static void *locks(void *argument)
{
    long index = (long)argument;

    go((int)index);
    pthread_barrier_wait(&barrier);
    for (long i = 0; i < TRIES; i++) {
        if (mlock(memory + (index * TRIES + i) * PAGE, PAGE) == 0)
            atomic_fetch_add(&locked_pages, 1);
        else if (errno == ENOMEM)
            atomic_fetch_add(&refused, 1);
    }
    return NULL;
}
static int at_once(void)
{
    pthread_t threads[THREADS];

    limit_to(100 * 4);
    MUST(setuid(1234));
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        threads[i] = start(locks, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    SHOW(locked_pages);
    SHOW(refused);
    SHOW(locked());
    return 0;
}
int main(void)
{
    memory = MAP(THREADS * TRIES * PAGE, MAP_PRIVATE);
    reap(spawn(later));
    reap(spawn(current));
    reap(spawn(at_once));
    return 0;
}
