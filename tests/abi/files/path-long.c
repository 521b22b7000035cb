/* Paths of 4096 bytes and more are ENAMETOOLONG. */
#include "abi.h"

int main(void)
{
    static char path[5000];
    MUST(mkdir("a", 0755));
    for (int i = 0; i < 2040; i += 4)
        memcpy(path + i, "a/..", 5), path[i + 4] = '/';
    strcpy(path + 2040, "/a");
    for (size_t i = 0; i < 4090; i += 2)
        memcpy(path + i, "./", 3);
    strcpy(path + 4090, "a");
    CALL(access(path, F_OK));
    for (size_t i = 0; i < 4100; i += 2)
        memcpy(path + i, "./", 3);
    CALL(access(path, F_OK));
    return 0;
}
