/* 300 files in a folder are made, listed and removed. */
#include "abi.h"

static int count(void)
{
    DIR *folder = opendir("d");
    int found = 0;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        found += entry->d_name[0] != '.';
    closedir(folder);
    return found;
}
int main(void)
{
    char name[32];
    MUST(mkdir("d", 0755));
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "d/%d", i);
        put_file(name, name);
    }
    SHOW(count());
    tell_file("d/123");
    for (int i = 0; i < 300; i += 2) {
        snprintf(name, sizeof(name), "d/%d", i);
        MUST(unlink(name));
    }
    SHOW(count());
    CALL(rmdir("d"));
    return 0;
}
