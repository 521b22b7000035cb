/* A listing that is begun again shows what was made meanwhile; telldir and seekdir. */
#include "abi.h"

static int count(DIR *folder)
{
    int found = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        found += entry->d_name[0] != '.';
    return found;
}
int main(void)
{
    DIR *folder = opendir(".");
    long place;
    put_file("a", "");
    put_file("b", "");
    rewinddir(folder);
    SHOW(count(folder));
    put_file("c", "");
    rewinddir(folder);
    SHOW(count(folder));
    rewinddir(folder);
    MUST((long)readdir(folder));
    place = telldir(folder);
    SHOW(count(folder) >= 2);
    seekdir(folder, place);
    SHOW(count(folder) >= 2);
    return 0;
}
