/* nullderef: reads address 0 and dies of it. */
#include "userland/help.h"
#include "userland/x86.h"

int main(int argc, char **argv)
{
    if (help_asked(argc, argv, "usage: nullderef\n\nReads through a null pointer and dies of SIGSEGV.\n"))
        return 0;
    x86_null_read();
    return 1;
}
