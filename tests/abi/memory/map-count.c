/* A process has at most vm.max_map_count mappings: mmap, and what would split one, then fail. */
#include "abi.h"

int main(void)
{
    char *all = mmap(NULL, 140000 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    long count = 0, most = 0;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");

    MUST((long)all);
    SHOW(file != NULL && fscanf(file, "%ld", &most) == 1);
    SHOW(most);
    while (mprotect(all + 2 * count * PAGE, PAGE, PROT_READ) == 0 && count < 69000)
        count++;
    printf("mprotect: %s\n", errno_name(errno));
    SHOW(2 * count > most - 60 && 2 * count < most);
    while (mmap(NULL, PAGE, count++ & 1 ? PROT_READ : PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED &&
           count < 140000) {
    }
    printf("mmap: %s\n", errno_name(errno));
    CALL(munmap(all + 138500 * PAGE, PAGE));
    CALL(munmap(all + 139000 * PAGE, 1000 * PAGE));
    CALL(madvise(all + 138500 * PAGE, PAGE, MADV_DONTFORK));
    CALL(munmap(all, 8 * PAGE));
    CALL(munmap(all + 138500 * PAGE, PAGE));
    CALL(mprotect(all + 138000 * PAGE, PAGE, PROT_READ));
    return 0;
}
