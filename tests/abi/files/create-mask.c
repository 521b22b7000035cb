/* umask takes permissions from new files and folders. */
#include "abi.h"

int main(void)
{
    struct stat facts;
    umask(027);
    MUST(open("a", O_CREAT | O_WRONLY, 0777));
    MUST(mkdir("b", 0777));
    stat("a", &facts);
    printf("%o\n", facts.st_mode);
    stat("b", &facts);
    printf("%o\n", facts.st_mode);
    return 0;
}
