/* A folder that is somebody's working folder can be removed, and is then empty. */
#include "abi.h"

int main(void)
{
    char text[PATH_MAX];
    MUST(mkdir("a", 0755));
    MUST(chdir("a"));
    CALL(rmdir("../a"));
    CALL(open("file", O_CREAT | O_WRONLY, 0600));
    CALL(getcwd(text, sizeof(text)) == NULL ? -1 : 0);
    CALL(access(".", F_OK));
    CALL(chdir(".."));
    CALL(access("a", F_OK));
    return 0;
}
