/* The system calls itself Linux on x86_64. */
#include "abi.h"

int main(void)
{
    struct utsname name;
    CALL(uname(&name));
    TEXT(name.sysname);
    TEXT(name.machine);
    SHOW(atoi(name.release) >= 5);
    return 0;
}
