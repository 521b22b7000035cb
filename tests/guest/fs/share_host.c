/* test-share: what the other programs of the test share, and what the host's side of it asks for. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/fs/share.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

char share_base[PATH_MAX];
char share_bytes[SHARE_BYTES], share_others[SHARE_BYTES];

void share_fill(char *to, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (char)tap_random(&seed);
}

long share_count(const char *path)
{
    DIR *list = opendir(path);
    long count = 0;

    if (list == NULL)
        return -1;
    for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(list);
    return count;
}

bool share_copy(const char *from, const char *to)
{
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    ssize_t count = -1;

    for (long turn = 0; in >= 0 && out >= 0 && (count = read(in, share_bytes, sizeof(share_bytes))) > 0; turn++) {
        kernels_go(turn);
        if (write(out, share_bytes, (size_t)count) != count)
            return false;
    }
    close(in);
    return close(out) == 0 && count == 0;
}

static int print_names(const char *path)
{
    DIR *list = opendir(path);

    if (list == NULL)
        return 1;
    for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list))
        fwrite(entry->d_name, 1, strlen(entry->d_name) + 1, stdout);
    closedir(list);
    return fflush(stdout) != 0;
}

static bool read_word(const char *path, char *to, size_t size)
{
    int fd = open(path, O_RDONLY);
    ssize_t count = fd >= 0 ? read(fd, to, size - 1) : -1;

    if (fd >= 0)
        close(fd);
    to[count > 0 ? count : 0] = '\0';
    return count > 0 && to[count - 1] == '\n';
}

/* Writes "asked N", and waits for "answered N" of the host, ten times, from one kernel after the other. */
static int meet(const char *path)
{
    char word[32], expected[32];

    if (chdir(path) != 0)
        return 1;
    for (int turn = 0; turn < 10; turn++) {
        int fd;

        kernels_go(turn);
        fd = open("asking", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dprintf(fd, "asked %d\n", turn);
        close(fd);
        if (rename("asking", "asked") != 0)
            return 2;
        snprintf(expected, sizeof(expected), "answered %d\n", turn);
        while (!read_word("answered", word, sizeof(word)) || strcmp(word, expected) != 0)
            usleep(5000);
    }
    return 0;
}

int share_help_host(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "copy") == 0)
        return share_copy(argv[2], argv[3]) ? 0 : errno;
    if (argc == 3 && strcmp(argv[1], "count") == 0)
        return printf("%ld\n", share_count(argv[2])) < 0;
    if (argc == 3 && strcmp(argv[1], "names") == 0)
        return print_names(argv[2]);
    if (argc == 3 && strcmp(argv[1], "meet") == 0)
        return meet(argv[2]);
    fprintf(stderr, "test-share: DIRECTORY, or: copy FROM TO, count DIRECTORY, names DIRECTORY, meet DIRECTORY\n");
    return 100;
}
