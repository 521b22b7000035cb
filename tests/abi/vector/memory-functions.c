/* String functions, which libraries choose by CPU, at all alignments. */
#include "abi.h"

int main(void)
{
    static char a[600], b[600];
    long wrong = 0;
    for (int from = 0; from < 64; from += 7) {
        for (int to = 0; to < 64; to += 5) {
            for (size_t size = 0; size < 500; size += 61) {
                for (int i = 0; i < 600; i++)
                    a[i] = (char)(i * 31 + 1), b[i] = 0;
                memcpy(b + to, a + from, size);
                wrong += memcmp(b + to, a + from, size) != 0 || b[to + (int)size] != 0;
                memmove(a + to, a + from, size);
                wrong += memcmp(b + to, a + to, size) != 0;
                memset(a + from, 'x', size);
                a[from + (int)size] = '\0';
                wrong += strlen(a + from) != size ||
                         (size > 0 && memchr(a + from, '\0', 600 - (size_t)from) != a + from + size);
            }
        }
    }
    SHOW(wrong);
    return 0;
}
