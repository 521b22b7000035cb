// An exception is passed on from thread to thread.
#include "abi.h"

#include <exception>
#include <stdexcept>
#include <thread>

int main(int, char **)
{
    std::exception_ptr caught;
    std::thread thread([&] {
        try {
            throw std::runtime_error("from the thread");
        } catch (...) {
            caught = std::current_exception();
        }
    });
    thread.join();
    try {
        std::rethrow_exception(caught);
    } catch (const std::exception &error) {
        TEXT(error.what());
    }
    return 0;
}
