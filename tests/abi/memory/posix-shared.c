/* shm_open: a name in /dev/shm that two mappings share. */
#include "abi.h"

static int child(void)
{
    int fd = (int)MUST(shm_open("/abi-shared", O_RDWR, 0));
    char *a = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST((long)a);
    strcat(a, " and child");
    return 0;
}
int main(void)
{
    int fd = (int)MUST(shm_open("/abi-shared", O_RDWR | O_CREAT | O_EXCL, 0600));
    char *a;
    MUST(ftruncate(fd, PAGE));
    a = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST((long)a);
    strcpy(a, "parent");
    reap(spawn(child));
    TEXT(a);
    CALL(shm_open("/abi-shared", O_RDWR | O_CREAT | O_EXCL, 0600));
    CALL(shm_unlink("/abi-shared"));
    CALL(shm_unlink("/abi-shared"));
    return 0;
}
