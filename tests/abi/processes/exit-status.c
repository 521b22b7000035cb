/* Of an exit status the low 8 bits are told. */
#include "abi.h"

static int number;
static int child(void)
{
    return number;
}
int main(void)
{
    int numbers[] = {0, 1, 127, 128, 255, 256, 257, -1};
    for (int i = 0; i < 8; i++) {
        number = numbers[i];
        reap(spawn(child));
    }
    return 300;
}
