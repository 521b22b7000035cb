// Latches, barriers, semaphores, waits on atomics, threads that join by themselves.
#include "abi.h"

#include <atomic>
#include <barrier>
#include <latch>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>

int main(int, char **)
{
    std::atomic<int> count{0}, flag{0};
    std::latch latch(3);
    std::barrier barrier(3, [&]() noexcept { count += 100; });
    std::counting_semaphore<> semaphore(0);
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 3; i++) {
            threads.emplace_back([&, i] {
                go(i);
                latch.arrive_and_wait();
                barrier.arrive_and_wait();
                barrier.arrive_and_wait();
                count++;
                semaphore.release();
            });
        }
        for (int i = 0; i < 3; i++)
            semaphore.acquire();
    }
    SHOW(count.load());
    std::jthread waiter([&] {
        flag.wait(0);
        count = 7;
    });
    flag = 1;
    flag.notify_one();
    waiter.join();
    SHOW(count.load());
    std::jthread stopped([](std::stop_token token) {
        while (!token.stop_requested())
            std::this_thread::yield();
        printf("stopped\n");
    });
    stopped.request_stop();
    return 0;
}
