/* The name of the machine can be changed. */
#include "abi.h"

int main(void)
{
    char name[65];
    CALL(sethostname("abi", 3));
    CALL(gethostname(name, sizeof(name)));
    TEXT(name);
    CALL(sethostname("x", 100));
    return 0;
}
