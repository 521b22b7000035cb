/* exit7: exits with 7. */
#include "userland/help.h"

int main(int argc, char **argv)
{
    if (help_asked(argc, argv, "usage: exit7\n\nExits with 7.\n"))
        return 0;
    return 7;
}
