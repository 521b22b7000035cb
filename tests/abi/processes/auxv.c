/* The auxiliary vector has page size, ids, random bytes and the program's name. */
#include "abi.h"

int main(int argc, char **argv)
{
    SHOW(getauxval(AT_PAGESZ));
    SHOW(getauxval(AT_UID));
    SHOW(getauxval(AT_SECURE));
    SHOW(getauxval(AT_CLKTCK));
    SHOW(getauxval(AT_PHENT));
    SHOW(getauxval(AT_PHDR) != 0 && getauxval(AT_PHNUM) > 2 && getauxval(AT_ENTRY) != 0);
    SHOW(getauxval(AT_RANDOM) != 0);
    SHOW(getauxval(AT_HWCAP) != 0);
    SHOW(getauxval(AT_EXECFN) != 0 && argv[argc] == NULL);
    TEXT((char *)getauxval(AT_PLATFORM));
    return 0;
}
