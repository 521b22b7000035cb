/* spin: never ends, never calls the kernel. */
#include "userland/help.h"
#include "userland/x86.h"

int main(int argc, char **argv)
{
    if (help_asked(argc, argv, "usage: spin\n\nNever ends.\n"))
        return 0;
    for (;;)
        x86_pause();
}
