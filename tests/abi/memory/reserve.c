/* A reservation of 4 GiB costs nothing until it is used. */
#include "abi.h"

int main(void)
{
    size_t size = (size_t)4 << 30;
    char *a = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    long sum = 0;
    MUST((long)a);
    MUST(mprotect(a, size, PROT_READ | PROT_WRITE));
    for (size_t i = 0; i < size; i += size / 64)
        a[i] = 1;
    for (size_t i = 0; i < size; i += size / 64)
        sum += a[i] + a[i + 100];
    SHOW(sum);
    CALL(munmap(a, size));
    return 0;
}
