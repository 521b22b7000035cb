/* Memory advised to be of large pages is as other memory. */
#include "abi.h"

int main(void)
{
    size_t size = 6 << 20;
    char *a = MAP(size, MAP_PRIVATE);
    long sum = 0;
    MUST(madvise(a, size, MADV_HUGEPAGE));
    for (size_t i = 0; i < size; i += PAGE)
        a[i] = (char)(i / PAGE);
    MUST(munmap(a + (3 << 20), PAGE));
    MUST(mprotect(a + (1 << 20), PAGE, PROT_READ));
    for (size_t i = 0; i < size; i += PAGE)
        sum += i != 3 << 20 ? a[i] != (char)(i / PAGE) : 0;
    SHOW(sum);
    return 0;
}
