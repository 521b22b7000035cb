// Clocks and sleeps of std::chrono.
#include "abi.h"

#include <chrono>
#include <thread>

int main(int, char **)
{
    using namespace std::chrono;
    auto begun = steady_clock::now();
    std::this_thread::sleep_for(milliseconds(30));
    SHOW(steady_clock::now() - begun >= milliseconds(30));
    auto end = system_clock::now() + milliseconds(30);
    std::this_thread::sleep_until(end);
    SHOW(system_clock::now() >= end);
    return 0;
}
