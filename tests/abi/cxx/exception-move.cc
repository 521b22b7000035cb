// An exception goes on its way while destructors move the thread from CPU to CPU.
#include "abi.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> order{0};
struct mover {
    int to, depth;
    int *seen;
    ~mover()
    {
        go(to);
        *seen = *seen * 10 + depth;
    }
};
static void deep(int me, int depth, int *seen)
{
    mover here{me + depth, depth, seen};
    if (depth == 5)
        throw std::runtime_error("thread " + std::to_string(me));
    deep(me, depth + 1, seen);
}
static void work(int me)
{
    for (int i = 0; i < 5; i++) {
        int seen = 0;
        try {
            deep(me, 1, &seen);
        } catch (const std::runtime_error &error) {
            order += seen == 54321 && error.what() == "thread " + std::to_string(me);
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
    SHOW(order.load());
    return 0;
}
