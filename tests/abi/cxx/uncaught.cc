// An exception that nobody catches aborts.
#include "abi.h"

#include <stdexcept>

static int child()
{
    std::set_terminate([] {
        say("terminate\n");
        abort();
    });
    throw 1;
}
int main(int, char **)
{
    reap(spawn(child));
    return 0;
}
