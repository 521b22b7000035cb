// Mutexes, locks and conditions.
#include "abi.h"

#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

int main(int, char **)
{
    std::mutex mutex;
    std::condition_variable changed;
    std::queue<int> queue;
    long sum = 0;
    std::thread consumer([&] {
        go(1);
        for (int i = 0; i < 100; i++) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return !queue.empty(); });
            sum += queue.front();
            queue.pop();
        }
    });
    for (int i = 0; i < 100; i++) {
        std::lock_guard lock(mutex);
        queue.push(i);
        changed.notify_one();
    }
    consumer.join();
    SHOW(sum);
    std::timed_mutex timed;
    timed.lock();
    std::thread([&] { SHOW(timed.try_lock_for(std::chrono::milliseconds(20))); }).join();
    timed.unlock();
    return 0;
}
