/* getdents lists every name once, with its type. */
#include "abi.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}
int main(void)
{
    static char names[16][300];
    int count = 0;
    DIR *folder;
    put_file("file", "");
    MUST(mkdir("folder", 0755));
    MUST(symlink("file", "link"));
    MUST(mkfifo("fifo", 0600));
    folder = opendir(".");
    MUST(folder == NULL ? -1 : 0);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL && count < 16;)
        snprintf(names[count++], 300, "%s type %d", entry->d_name, entry->d_type);
    qsort(names, (size_t)count, 300, by_name);
    for (int i = 0; i < count; i++)
        printf("%s\n", names[i]);
    rewinddir(folder);
    SHOW(readdir(folder) != NULL);
    return 0;
}
