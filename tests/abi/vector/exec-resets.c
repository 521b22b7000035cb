/* exec gives the new program fresh modes. */
#include "abi.h"

#include <immintrin.h>

int main(int argc, char **argv)
{
    uint16_t word = 0x0c7f;
    if (argc == 1) {
        _mm_setcsr(0x7f80);
        __asm__ volatile("fldcw %0" : : "m"(word));
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    }
    __asm__ volatile("fnstcw %0" : "=m"(word));
    printf("%x %x\n", _mm_getcsr(), word);
    return 0;
}
