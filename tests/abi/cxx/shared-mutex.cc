// Readers share, writers exclude.
#include "abi.h"

#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

int main(int, char **)
{
    std::shared_mutex mutex;
    int a = 0, b = 0;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            go(t);
            for (int i = 0; i < 100; i++) {
                if (i % 5 == 0) {
                    std::unique_lock lock(mutex);
                    a++, b++;
                } else {
                    std::shared_lock lock(mutex);
                    wrong += a != b;
                }
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
    printf("%d %d %d\n", a, b, wrong.load());
    return 0;
}
