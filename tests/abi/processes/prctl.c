/* Names, the signal at a parent's death, being dumpable. */
#include "abi.h"

int main(void)
{
    char name[16];
    int number;
    CALL(prctl(PR_SET_NAME, "a long name of a thread"));
    CALL(prctl(PR_GET_NAME, name));
    TEXT(name);
    CALL(prctl(PR_SET_PDEATHSIG, SIGUSR1));
    CALL(prctl(PR_GET_PDEATHSIG, &number));
    SHOW(number);
    CALL(prctl(PR_GET_DUMPABLE));
    CALL(prctl(PR_SET_DUMPABLE, 0));
    CALL(prctl(PR_GET_DUMPABLE));
    CALL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CALL(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    CALL(prctl(PR_SET_KEEPCAPS, 1));
    CALL(prctl(12345));
    return 0;
}
