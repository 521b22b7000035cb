/* exec keeps process id, parent, group, folder and mask of file modes. */
#include "abi.h"

int main(int argc, char **argv)
{
    char id[64];
    if (argc == 2) {
        snprintf(id, sizeof(id), "%d %d %d", getpid(), getppid(), getpgrp());
        SHOW(strcmp(id, argv[1]));
        TEXT(getcwd(id, sizeof(id)));
        printf("%o\n", umask(0));
        return 0;
    }
    MUST(chdir("/proc"));
    umask(027);
    snprintf(id, sizeof(id), "%d %d %d", getpid(), getppid(), getpgrp());
    execl("/proc/self/exe", argv[0], id, (char *)NULL);
    return 1;
}
