/* What open refuses. */
#include "abi.h"

int main(void)
{
    char name[300];
    put_file("file", "");
    MUST(mkdir("folder", 0755));
    CALL(open("", O_RDONLY));
    CALL(open("none/a", O_CREAT | O_WRONLY, 0600));
    CALL(open("file/a", O_RDONLY));
    CALL(open("folder", O_WRONLY));
    CALL(open("folder", O_RDWR | O_CREAT, 0600));
    CALL(open("file", O_RDONLY | O_DIRECTORY));
    CALL(open("new/", O_CREAT | O_WRONLY, 0600));
    memset(name, 'x', 299);
    name[299] = '\0';
    CALL(open(name, O_CREAT | O_WRONLY, 0600));
    CALL(open("file/", O_RDONLY));
    CALL(open("/proc/none", O_RDONLY));
    CALL(open("/dev/none", O_RDONLY));
    CALL(openat(99, "file", O_RDONLY));
    return 0;
}
