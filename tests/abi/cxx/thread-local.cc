// Thread-local objects are made and destroyed in each thread.
#include "abi.h"

#include <atomic>
#include <thread>

static std::atomic<int> made{0}, destroyed{0};
struct counted {
    int value = 5;
    counted() { made++; }
    ~counted() { destroyed++; }
};
static thread_local counted here;
int main(int, char **)
{
    for (int i = 0; i < 3; i++) {
        std::thread([i] {
            here.value += i;
            printf("%d\n", here.value);
        }).join();
    }
    printf("%d %d\n", made.load(), destroyed.load());
    return 0;
}
