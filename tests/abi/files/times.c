/* Times of a file are set, and change when it is written. */
#include "abi.h"

int main(void)
{
    struct timespec set[2] = {{1000, 5}, {2000, 7}}, only[2] = {{0, UTIME_OMIT}, {3000, 0}};
    struct stat facts;
    int fd;
    put_file("a", "");
    CALL(utimensat(AT_FDCWD, "a", set, 0));
    MUST(stat("a", &facts));
    printf("%ld.%ld %ld.%ld\n", (long)facts.st_atime, facts.st_atim.tv_nsec, (long)facts.st_mtime,
           facts.st_mtim.tv_nsec);
    CALL(utimensat(AT_FDCWD, "a", only, 0));
    MUST(stat("a", &facts));
    printf("%ld %ld\n", (long)facts.st_atime, (long)facts.st_mtime);
    CALL(utime("a", &(struct utimbuf){10, 20}));
    fd = (int)MUST(open("a", O_WRONLY));
    MUST(stat("a", &facts));
    printf("%ld %ld\n", (long)facts.st_atime, (long)facts.st_mtime);
    MUST(write(fd, "x", 1));
    MUST(stat("a", &facts));
    SHOW(facts.st_mtime > 1000000);
    CALL(futimens(fd, NULL));
    MUST(stat("a", &facts));
    SHOW(facts.st_atime > 1000000);
    return 0;
}
