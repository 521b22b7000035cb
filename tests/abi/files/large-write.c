/* Megabytes are written and read back whole. */
#include "abi.h"

int main(void)
{
    size_t size = 3 << 20;
    unsigned char *bytes = malloc(size), *got = calloc(1, size);
    int fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 4096);
    CALL(write(fd, bytes, size));
    CALL(pread(fd, got, size, 0));
    SHOW(memcmp(bytes, got, size));
    CALL(pread(fd, got, 100, (3 << 20) - 10));
    CALL(pread(fd, got, 100, 3 << 20));
    return 0;
}
