// Destructors run on the way of an exception, inner ones first.
#include "abi.h"

#include <stdexcept>

struct noisy {
    int number;
    explicit noisy(int n) : number(n) { printf("+%d\n", n); }
    ~noisy() { printf("-%d\n", number); }
};
static void deep(int n)
{
    noisy here(n);
    if (n == 4)
        throw std::out_of_range("deep");
    deep(n + 1);
}
int main(int, char **)
{
    try {
        deep(0);
    } catch (const std::out_of_range &error) {
        printf("%s\n", error.what());
    }
    return 0;
}
