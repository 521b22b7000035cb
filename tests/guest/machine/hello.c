/* hello: the smallest program that says something. */
#include <stdio.h>

#include "userland/help.h"

int main(int argc, char **argv)
{
    if (help_asked(argc, argv, "usage: hello\n\nSays hello and exits with 0.\n"))
        return 0;
    puts("hello, world");
    return 0;
}
