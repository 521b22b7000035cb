/* What the advices say to memory of each kind: private, shared, of a file, locked, only readable, with a gap. */
#include "abi.h"

static const struct {
    int advice;
    const char *name;
} advices[] = {{MADV_NORMAL, "NORMAL"},
               {MADV_RANDOM, "RANDOM"},
               {MADV_SEQUENTIAL, "SEQUENTIAL"},
               {MADV_WILLNEED, "WILLNEED"},
               {MADV_DONTNEED, "DONTNEED"},
               {8, "FREE"},
               {MADV_REMOVE, "REMOVE"},
               {MADV_DONTFORK, "DONTFORK"},
               {MADV_DOFORK, "DOFORK"},
               {18, "WIPEONFORK"},
               {19, "KEEPONFORK"},
               {20, "COLD"},
               {21, "PAGEOUT"},
               {22, "POPULATE_READ"},
               {23, "POPULATE_WRITE"},
               {24, "DONTNEED_LOCKED"},
               {5, "5"},
               {7, "7"},
               {13000, "13000"}};

static void all(const char *what, char *at, size_t bytes)
{
    printf("%s:", what);
    for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
        if (madvise(at, bytes, advices[i].advice) != 0)
            printf(" %s %s", advices[i].name, errno_name(errno));
    }
    printf("\n");
}
int main(void)
{
    char *private = MAP(4 * PAGE, MAP_PRIVATE), *shared = MAP(4 * PAGE, MAP_SHARED), *gap = MAP(4 * PAGE, MAP_PRIVATE);
    char *locked = MAP(4 * PAGE, MAP_PRIVATE), *read_only = MAP(4 * PAGE, MAP_PRIVATE), *at;
    int fd;

    all("private", private, 4 * PAGE);
    all("shared", shared, 4 * PAGE);
    put_file("file", "text");
    fd = (int)MUST(open("file", O_RDWR));
    MUST(ftruncate(fd, 2 * PAGE));
    MUST((long)(at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)));
    all("shared of a file", at, 2 * PAGE);
    MUST((long)(at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)));
    all("private of a file", at, 2 * PAGE);
    MUST((long)(at = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, (int)MUST(open("file", O_RDONLY)), 0)));
    all("to read, beyond its end", at, 4 * PAGE);
    MUST(mlock(locked, 4 * PAGE));
    all("locked", locked, 4 * PAGE);
    MUST(mprotect(read_only, 4 * PAGE, PROT_READ));
    all("only readable", read_only, 4 * PAGE);
    MUST(mprotect(read_only, 4 * PAGE, PROT_NONE));
    all("without access", read_only, 4 * PAGE);
    MUST(munmap(gap + PAGE, PAGE));
    all("with a gap", gap, 4 * PAGE);
    all("unmapped", gap + PAGE, PAGE);
    all("odd", private + 1, PAGE);
    all("empty", private, 0);
    all("empty and unmapped", gap + PAGE, 0);
    all("around the end", private, (size_t)-PAGE);
    all("of the kernel", (char *)0xffff800000000000UL, PAGE);
    return 0;
}
