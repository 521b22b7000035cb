/* /proc/self: cmdline, comm, exe, the number of descriptors, the folder. */
#include "abi.h"

int main(int argc, char **argv)
{
    char text[4096];
    ssize_t count;
    int fd = open("/proc/self/cmdline", O_RDONLY), found = 0;
    count = read(fd, text, sizeof(text));
    printf("%d\n", count == (ssize_t)strlen(argv[0]) + 1 && strcmp(text, argv[0]) == 0 && argc == 1);
    close(fd);
    MUST(prctl(PR_SET_NAME, "renamed"));
    tell_file("/proc/self/comm");
    SHOW(readlink("/proc/self/exe", text, sizeof(text)) > 0);
    SHOW(text[0]);
    MUST(chdir("/dev"));
    count = MUST(readlink("/proc/self/cwd", text, sizeof(text) - 1));
    text[count] = '\0';
    TEXT(text);
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        found += entry->d_name[0] != '.';
    SHOW(found);
    return 0;
}
