/* What mmap refuses, and with which error. */
#include "abi.h"

int main(void)
{
    int rw = PROT_READ | PROT_WRITE, anon = MAP_ANONYMOUS;
    CALL(mmap(NULL, 0, rw, MAP_PRIVATE | anon, -1, 0));
    CALL(mmap(NULL, PAGE, rw, anon, -1, 0));
    CALL(mmap(NULL, PAGE, rw, MAP_PRIVATE, -1, 0));
    CALL(mmap(NULL, PAGE, rw, MAP_PRIVATE, 99, 0));
    CALL(mmap((void *)0x10001, PAGE, rw, MAP_PRIVATE | MAP_FIXED | anon, -1, 0));
    CALL(syscall(SYS_mmap, NULL, PAGE, rw, MAP_PRIVATE, 0, 1L));
    CALL(mmap(NULL, (size_t)1 << 62, rw, MAP_PRIVATE | anon, -1, 0));
    CALL(mmap((void *)(1L << 62), PAGE, rw, MAP_PRIVATE | MAP_FIXED | anon, -1, 0));
    return 0;
}
