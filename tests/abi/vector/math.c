/* Results of the mathematical functions. */
#include "abi.h"

int main(void)
{
    volatile double x = 0.7, y = 3.25;
    printf("%a %a %a\n", sqrt(y), fma(x, y, 1.0), floor(-y));
    printf("%.12f %.12f %.12f %.12f\n", sin(x), cos(x), exp(x), log(y));
    printf("%.12f %.12f %.12f\n", pow(x, y), atan2(x, y), cbrt(y));
    printf("%.15Lf %.15Lf\n", sqrtl((long double)y), (long double)x / 3);
    printf("%g %g %g %g\n", 1e308 * 10 * x, -1.0 / 0.0, fmod(10, y), remainder(10, y));
    printf("%d %d\n", isnan(sqrt(-x)) != 0, fpclassify(1e-310) == FP_SUBNORMAL);
    return 0;
}
