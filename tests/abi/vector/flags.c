/* Floating point flags are kept over switches, and told. */
#include "abi.h"

int main(void)
{
    volatile double one = 1, zero = 0, three = 3, result;
    feclearexcept(FE_ALL_EXCEPT);
    result = one / zero;
    SHOW(isinf(result) != 0);
    sched_yield();
    SHOW(fetestexcept(FE_DIVBYZERO) != 0);
    SHOW(fetestexcept(FE_INEXACT) != 0);
    go(1);
    result = one / three;
    go(0);
    SHOW(fetestexcept(FE_INEXACT) != 0);
    SHOW(fetestexcept(FE_OVERFLOW) != 0);
    return 0;
}
