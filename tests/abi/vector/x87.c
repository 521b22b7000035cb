/* The x87's control word and stack survive switches and moves. */
#include "abi.h"

int main(void)
{
    uint16_t set = 0x0c7f, got = 0;
    double value = 0;
    __asm__ volatile("fldcw %0" : : "m"(set));
    go(1);
    sched_yield();
    __asm__ volatile("fnstcw %0" : "=m"(got));
    printf("%x\n", got);
    __asm__ volatile("fld1; fldpi; fldl2e");
    go(2);
    sched_yield();
    go(0);
    __asm__ volatile("fstpl %0" : "=m"(value));
    printf("%.10f ", value);
    __asm__ volatile("fstpl %0" : "=m"(value));
    printf("%.10f ", value);
    __asm__ volatile("fstpl %0" : "=m"(value));
    printf("%.10f\n", value);
    return 0;
}
