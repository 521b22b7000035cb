// Futures, promises and asynchronous calls, with exceptions.
#include "abi.h"

#include <future>
#include <stdexcept>

int main(int, char **)
{
    auto first = std::async(std::launch::async, [] { return 21 * 2; });
    std::promise<int> promise;
    auto second = promise.get_future();
    std::thread([&promise] { promise.set_value(7); }).join();
    auto third = std::async(std::launch::async, []() -> int { throw std::runtime_error("in the call"); });
    std::packaged_task<int(int)> task([](int n) { return n + 1; });
    auto fourth = task.get_future();
    task(4);
    printf("%d %d %d\n", first.get(), second.get(), fourth.get());
    try {
        third.get();
    } catch (const std::exception &error) {
        TEXT(error.what());
    }
    return 0;
}
