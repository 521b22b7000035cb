// Each thread throws and catches its own.
#include "abi.h"

#include <atomic>
#include <thread>
#include <vector>

static std::atomic<int> right{0};
static void work(int me)
{
    go(me);
    for (int i = 0; i < 100; i++) {
        try {
            throw me * 1000 + i;
        } catch (int number) {
            right += number == me * 1000 + i;
        }
    }
}
int main(int, char **)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work, i);
    for (auto &thread : threads)
        thread.join();
    SHOW(right.load());
    return 0;
}
