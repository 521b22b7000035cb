/* A page of a file that another process has touched, or that was written, is in memory; a hole is not. */
#include "abi.h"

static char *map;
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
static int locks(void)
{
    CALL(mlock(map + PAGE, 2 * PAGE));
    return 0;
}
int main(void)
{
    char *private, *shared;

    MUST(file = memfd_create("file", 0));
    MUST(ftruncate(file, 8 * PAGE));
    MUST((long)(map = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)));
    tell("untouched", map, 8);
    reap(spawn(locks));
    tell("locked by a child", map, 8);
    MUST(pwrite(file, "x", 1, 5 * PAGE));
    tell("written", map, 8);
    map[7 * PAGE] = 1;
    MUST((long)(private = mmap(NULL, 6 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 2 * PAGE)));
    tell("private", private, 6);
    SHOW(*(volatile char *)(private + PAGE));
    private[PAGE] = 1;
    tell("a copy", private, 6);
    MUST(ftruncate(file, 4 * PAGE));
    tell("cut", map, 8);
    MUST(ftruncate(file, 8 * PAGE));
    MUST(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE));
    tell("punched", map, 8);
    MUST(munmap(map + 3 * PAGE, PAGE));
    CALL(mincore(map, 8 * PAGE, (unsigned char *)private + PAGE));
    MUST((long)(shared = MAP(4 * PAGE, MAP_SHARED)));
    shared[PAGE] = 1;
    map = shared + PAGE;
    reap(spawn(locks));
    tell("anonymous", shared + PAGE, 3);
    return 0;
}
