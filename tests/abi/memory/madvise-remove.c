/* MADV_REMOVE: of shared memory only, and what it refuses. */
#include "abi.h"

int main(void)
{
    char *shared = MAP(4 * PAGE, MAP_SHARED), *private = MAP(PAGE, MAP_PRIVATE), *at;
    int fd = (int)MUST(memfd_create("memory", 0)), file;

    shared[0] = 'a';
    shared[PAGE] = 'b';
    CALL(madvise(shared, PAGE, MADV_REMOVE));
    SHOW(shared[0]);
    SHOW(shared[PAGE]);
    CALL(madvise(shared + 1, PAGE, MADV_REMOVE));
    CALL(madvise(private, PAGE, MADV_REMOVE));
    MUST(ftruncate(fd, 2 * PAGE));
    MUST(pwrite(fd, "xyz", 3, 0));
    at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    CALL(madvise(at, PAGE, MADV_REMOVE));
    CALL(madvise(shared, PAGE, MADV_REMOVE));
    MUST(mlock(shared, PAGE));
    CALL(madvise(shared, PAGE, MADV_REMOVE));
    MUST(munlock(shared, PAGE));
    MUST(mprotect(shared, PAGE, PROT_READ));
    CALL(madvise(shared, PAGE, MADV_REMOVE));
    MUST(mprotect(shared, PAGE, PROT_READ | PROT_WRITE));
    MUST(munmap(at, PAGE));
    CALL(madvise(at, PAGE, MADV_REMOVE));
    MUST(munmap(shared + 2 * PAGE, PAGE));
    shared[PAGE] = 'c';
    shared[3 * PAGE] = 'd';
    CALL(madvise(shared, 4 * PAGE, MADV_REMOVE));
    SHOW(shared[PAGE]);
    SHOW(shared[3 * PAGE]);
    CALL(madvise(shared, 0, MADV_REMOVE));
    put_file("file", "text");
    file = (int)MUST(open("file", O_RDWR));
    at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    CALL(madvise(at, PAGE, MADV_REMOVE));
    return 0;
}
