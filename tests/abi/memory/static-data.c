/* Data, zeroed data and constants of a program are as they were written. */
#include "abi.h"

static int data[2000] = {1, 2, [1999] = 3};
static int zero[2000];
static const int constant[3] = {4, 5, 6};
int main(void)
{
    long sum = 0;
    for (int i = 0; i < 2000; i++)
        sum += zero[i];
    SHOW(sum);
    SHOW(data[0] + data[1] * 10 + data[1999] * 100);
    SHOW(constant[0] + constant[1] * 10 + constant[2] * 100);
    data[5] = zero[5] = 7;
    SHOW(data[5] + zero[5]);
    return 0;
}
