// Threads with arguments, results and moves.
#include "abi.h"

#include <thread>
#include <vector>

int main(int, char **)
{
    std::vector<std::thread> threads;
    std::vector<long> results(6);
    for (int i = 0; i < 6; i++)
        threads.emplace_back([&results](int n) { results[(size_t)n] = n * n; }, i);
    std::thread moved = std::move(threads[0]);
    SHOW(threads[0].joinable());
    moved.join();
    for (int i = 1; i < 6; i++)
        threads[(size_t)i].join();
    for (long result : results)
        printf("%ld ", result);
    printf("\n");
    SHOW(std::thread::hardware_concurrency() > 0);
    return 0;
}
