/* exec of files without the permission, and that are no programs. */
#include "abi.h"

int main(void)
{
    char *arguments[] = {"x", NULL};
    put_file("plain", "nothing to execute\n");
    CALL(execv("plain", arguments));
    MUST(chmod("plain", 0755));
    CALL(execv("plain", arguments));
    put_file("empty", "");
    MUST(chmod("empty", 0755));
    CALL(execv("empty", arguments));
    put_file("elf", "\177ELF\2\1\1");
    MUST(chmod("elf", 0755));
    CALL(execv("elf", arguments));
    return 0;
}
