/* Large blocks come zeroed from calloc, grow with their contents and can be given back. */
#include "abi.h"

int main(void)
{
    size_t size = 8 << 20;
    char *a = calloc(1, size), *b;
    long sum = 0;
    for (size_t i = 0; i < size; i += PAGE)
        sum += a[i];
    SHOW(sum);
    a[size - 1] = 'e';
    b = realloc(a, 2 * size);
    SHOW(b[size - 1]);
    free(b);
    SHOW(((long)aligned_alloc(65536, 65536) & 65535));
    SHOW(malloc((size_t)1 << 60) == NULL);
    SHOW(errno == ENOMEM);
    return 0;
}
