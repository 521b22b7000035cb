/* At vm.max_map_count: what still works, and what each call that would make one more mapping says. */
#include "abi.h"

#define COUNT 140000L

/* As many mappings as mprotect may make. */
static void fill(char *all)
{
    long count = 0;

    while (mprotect(all + 2 * count * PAGE, PAGE, PROT_READ) == 0)
        count++;
    printf("full: %s\n", errno_name(errno));
}
static void told(const char *what, void *at)
{
    printf("%s: %s\n", what, at == MAP_FAILED ? errno_name(errno) : "done");
}
static int child(void)
{
    return 0;
}
int main(void)
{
    char *all = mmap(NULL, COUNT * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *memory = MAP(8 * PAGE, MAP_PRIVATE);

    MUST((long)all);
    fill(all);
    while (mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
    }
    printf("mmap: %s\n", errno_name(errno));
    told("mmap over the middle",
         mmap(memory + 2 * PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    told("mremap that moves", mremap(memory, 8 * PAGE, 16 * PAGE, MREMAP_MAYMOVE));
    CALL(mlock(memory + 2 * PAGE, PAGE));
    CALL(madvise(memory + 2 * PAGE, PAGE, MADV_DONTFORK));
    CALL(madvise(memory + 2 * PAGE, PAGE, MADV_DONTNEED));
    CALL(mprotect(memory + 2 * PAGE, PAGE, PROT_READ));
    CALL(munmap(memory + 2 * PAGE, PAGE));
    CALL(munmap(memory + 7 * PAGE, PAGE));
    told("mremap that shrinks", mremap(memory, 7 * PAGE, 4 * PAGE, 0));
    CALL(mprotect(memory, 4 * PAGE, PROT_NONE));
    CALL(mprotect(memory, 4 * PAGE, PROT_READ | PROT_WRITE));
    memory[0] = 'x';
    reap(spawn(child));
    return 0;
}
