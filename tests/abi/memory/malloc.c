/* Blocks of many sizes keep what they have. */
#include "abi.h"

int main(void)
{
    static unsigned char *blocks[500];
    long wrong = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 500; i++) {
            size_t size = (size_t)(i * 37 % 5000 + 1);
            blocks[i] = realloc(blocks[i], size);
            memset(blocks[i], i, size);
        }
        for (int i = 0; i < 500; i++)
            wrong += blocks[i][0] != (unsigned char)i || blocks[i][i * 37 % 5000] != (unsigned char)i;
        for (int i = round; i < 500; i += 2) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
    }
    SHOW(wrong);
    return 0;
}
