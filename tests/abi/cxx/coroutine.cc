// A coroutine yields numbers.
#include "abi.h"

#include <coroutine>

struct numbers {
    struct promise_type {
        int value = 0;
        numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int v)
        {
            value = v;
            return {};
        }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};
static numbers squares(int count)
{
    for (int i = 1; i <= count; i++)
        co_yield i *i;
}
int main(int, char **)
{
    numbers all = squares(5);
    for (all.handle.resume(); !all.handle.done(); all.handle.resume())
        printf("%d ", all.handle.promise().value);
    printf("\n");
    all.handle.destroy();
    return 0;
}
