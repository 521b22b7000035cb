/* /proc/PID/fdinfo of inotify has a line for each watch. */
#include "abi.h"

static void tell(int fd)
{
    char name[64], line[256];
    FILE *file;
    struct stat facts[2];
    int wd;
    unsigned long inode;
    unsigned device, mask, ignored;

    MUST(stat("a", &facts[0]));
    MUST(stat(".", &facts[1]));
    snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
    file = fopen(name, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "inotify wd:%d ino:%lx sdev:%x mask:%x ignored_mask:%x", &wd, &inode, &device, &mask,
                   &ignored) == 5)
            printf("wd %d inode of %s mask %x ignored %x\n", wd,
                   inode == facts[0].st_ino   ? "a"
                   : inode == facts[1].st_ino ? "."
                                              : "?",
                   mask, ignored);
        else if (strncmp(line, "pos:", 4) == 0 || strncmp(line, "flags:", 6) == 0)
            printf("%s", line);
    }
    if (file != NULL)
        fclose(file);
}
int main(void)
{
    int fd = (int)MUST(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));

    put_file("a", "text");
    tell(fd);
    CALL(inotify_add_watch(fd, "a", IN_MODIFY | IN_OPEN));
    CALL(inotify_add_watch(fd, ".", IN_ALL_EVENTS | IN_ONLYDIR));
    tell(fd);
    CALL(inotify_rm_watch(fd, 1));
    tell(fd);
    return 0;
}
