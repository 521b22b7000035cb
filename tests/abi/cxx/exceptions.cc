// Exceptions are caught by type, and thrown on.
#include "abi.h"

#include <stdexcept>
#include <string>

static void inner(int kind)
{
    if (kind == 0)
        throw 42;
    if (kind == 1)
        throw std::runtime_error("runtime");
    throw std::string("text");
}
static void outer(int kind)
{
    try {
        inner(kind);
    } catch (int number) {
        printf("int %d\n", number);
    } catch (const std::exception &error) {
        printf("exception %s, thrown on\n", error.what());
        throw;
    }
}
int main(int, char **)
{
    for (int kind = 0; kind < 3; kind++) {
        try {
            outer(kind);
        } catch (const std::logic_error &) {
            printf("not this\n");
        } catch (const std::exception &error) {
            printf("again %s\n", error.what());
        } catch (...) {
            printf("something\n");
        }
    }
    return 0;
}
