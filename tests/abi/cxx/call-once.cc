// call_once runs once, also when it throws first.
#include "abi.h"

#include <mutex>
#include <thread>
#include <vector>

static std::once_flag flag;
static int tries, runs;
static void once()
{
    if (tries++ == 0)
        throw 1;
    runs++;
}
int main(int, char **)
{
    for (int i = 0; i < 4; i++) {
        try {
            std::call_once(flag, once);
        } catch (int) {
            printf("thrown\n");
        }
    }
    printf("%d %d\n", tries, runs);
    return 0;
}
