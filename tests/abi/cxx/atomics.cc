// Atomic objects of many threads, with all orders.
#include "abi.h"

#include <atomic>
#include <thread>
#include <vector>

int main(int, char **)
{
    std::atomic<long> sum{0}, product{1};
    std::atomic_flag flag = ATOMIC_FLAG_INIT;
    long plain = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            go(t);
            for (int i = 0; i < 200; i++) {
                sum.fetch_add(i, std::memory_order_relaxed);
                while (flag.test_and_set(std::memory_order_acquire))
                    std::this_thread::yield();
                plain++;
                flag.clear(std::memory_order_release);
            }
            long seen = product;
            while (!product.compare_exchange_weak(seen, seen * 3)) {
            }
        });
    }
    for (auto &thread : threads)
        thread.join();
    printf("%ld %ld %ld\n", sum.load(), plain, product.load());
    return 0;
}
