/* system and popen run a shell, where there is one. */
#include "abi.h"

int main(void)
{
    SHOW(system("exit 3") == (access("/bin/sh", X_OK) == 0 ? 3 << 8 : 127 << 8));
    return 0;
}
