/* RLIMIT_MEMLOCK and VmLck count what a process has locked. */
#include "abi.h"

#define KB 1024L
static char *memory;

static long locked(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kb = -1;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        sscanf(line, "VmLck: %ld", &kb);
    if (file != NULL)
        fclose(file);
    return kb;
}
static void tell_map(const char *what, void *at)
{
    printf("%s: %s\n", what, at == MAP_FAILED ? errno_name(errno) : "mapped");
}
static int child_of_locked(void)
{
    SHOW(locked());
    return 0;
}
static int as_user(void)
{
    struct rlimit limit = {64 * KB, 64 * KB};
    void *at;

    MUST(setrlimit(RLIMIT_MEMLOCK, &limit));
    MUST(setuid(1234));
    SHOW(locked());
    CALL(mlock(memory, 32 * KB));
    SHOW(locked());
    CALL(mlock(memory, 32 * KB));
    SHOW(locked());
    CALL(mlock(memory, 64 * KB));
    SHOW(locked());
    CALL(mlock(memory + 64 * KB, 4 * KB));
    CALL(mlock(memory + 32 * KB, 64 * KB));
    SHOW(locked());
    tell_map("MAP_LOCKED", mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0));
    reap(spawn(child_of_locked));
    CALL(munlock(memory + 16 * KB, 16 * KB));
    SHOW(locked());
    tell_map("MAP_LOCKED", at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0));
    SHOW(locked());
    tell_map("mremap", mremap(at, PAGE, 32 * KB, MREMAP_MAYMOVE));
    MUST(munmap(at, PAGE));
    SHOW(locked());
    MUST(munmap(memory + 48 * KB, 16 * KB));
    SHOW(locked());
    CALL(mlock(memory + 48 * KB, 4 * KB));
    CALL(mlockall(MCL_CURRENT));
    CALL(munlockall());
    SHOW(locked());
    limit.rlim_cur = 0;
    MUST(setrlimit(RLIMIT_MEMLOCK, &limit));
    CALL(mlock(memory, PAGE));
    CALL(mlockall(MCL_FUTURE));
    CALL(munlock(memory, PAGE));
    tell_map("MAP_LOCKED", mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0));
    return 0;
}
int main(void)
{
    struct rlimit limit;

    MUST(getrlimit(RLIMIT_MEMLOCK, &limit));
    SHOW(limit.rlim_cur == limit.rlim_max);
    memory = MAP(1024 * KB, MAP_PRIVATE);
    reap(spawn(as_user));
    limit.rlim_cur = limit.rlim_max = 16 * KB;
    MUST(setrlimit(RLIMIT_MEMLOCK, &limit));
    CALL(mlock(memory, 128 * KB)); /* root is not limited */
    SHOW(locked());
    return 0;
}
