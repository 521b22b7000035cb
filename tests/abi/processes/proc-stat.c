/* /proc/self/stat has name, state, parent, group and session in their places. */
#include "abi.h"

int main(void)
{
    char text[1024], name[32], state;
    int fd = (int)MUST(open("/proc/self/stat", O_RDONLY)), pid, parent, group, session, fields = 0;
    ssize_t count;
    MUST(prctl(PR_SET_NAME, "a (b) c"));
    close(fd);
    fd = (int)MUST(open("/proc/self/stat", O_RDONLY));
    count = MUST(read(fd, text, sizeof(text) - 1));
    text[count] = '\0';
    MUST(sscanf(text, "%d (%15[^\n]", &pid, name) == 2 ? 0 : -1);
    MUST(sscanf(strrchr(text, ')') + 1, " %c %d %d %d", &state, &parent, &group, &session) == 4 ? 0 : -1);
    SHOW(pid == getpid());
    SHOW(strncmp(name, "a (b) c) ", 9));
    SHOW(state);
    SHOW(parent == getppid());
    SHOW(group == getpgrp());
    SHOW(session == getsid(0));
    for (char *p = strrchr(text, ')'); *p != '\0'; p++)
        fields += *p == ' ';
    SHOW(fields);
    return 0;
}
