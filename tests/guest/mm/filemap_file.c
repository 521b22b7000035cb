/* The file that test-filemap maps. tests/guest/mm/filemap.h is the contract. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/mm/filemap.h"

#define NAME "/bin/test-filemap"

long filemap_pages;
unsigned char *filemap_bytes;
static long size;

static void give_up(const char *what)
{
    perror(what);
    exit(99);
}

int filemap_open(int flags)
{
    int fd = open(NAME, flags);

    if (fd < 0)
        give_up(NAME);
    return fd;
}

void filemap_begin(void)
{
    int fd = filemap_open(O_RDONLY);
    struct stat facts;

    if (fstat(fd, &facts) != 0)
        give_up("fstat");
    size = facts.st_size;
    filemap_pages = (size + PAGE - 1) / PAGE;
    filemap_bytes = calloc((size_t)filemap_pages, (size_t)PAGE);
    for (long done = 0; done < size;) {
        ssize_t count = read(fd, filemap_bytes + done, (size_t)(size - done));

        if (count <= 0)
            give_up("read");
        done += count;
    }
    close(fd);
}

char *filemap_map(long first, long pages, int prot, int flags)
{
    int fd = filemap_open(O_RDONLY);
    char *area = mmap(NULL, (size_t)(pages * PAGE), prot, flags, fd, first * PAGE);

    if (area == MAP_FAILED)
        give_up("mmap");
    close(fd);
    return area;
}

bool filemap_same(const char *area, long first, long pages)
{
    return memcmp(area, filemap_bytes + first * PAGE, (size_t)(pages * PAGE)) == 0;
}

bool filemap_tail_zero(const char *area)
{
    for (long i = size; i < filemap_pages * PAGE; i++) {
        if (area[i] != 0)
            return false;
    }
    return true;
}

static sigjmp_buf back;
static volatile int signalled;
static char *volatile expected;

static void note_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    signalled = info->si_addr == expected ? number * 100 + info->si_code : -1;
    siglongjmp(back, 1);
}

int filemap_signal(char *address, bool write)
{
    struct sigaction action = {.sa_sigaction = note_signal, .sa_flags = SA_SIGINFO}, old[2];

    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &old[0]);
    sigaction(SIGSEGV, &action, &old[1]);
    signalled = 0;
    expected = address;
    if (sigsetjmp(back, 1) == 0) {
        volatile char *byte = address;

        if (write)
            *byte = 1;
        else
            (void)*byte;
    }
    sigaction(SIGBUS, &old[0], NULL);
    sigaction(SIGSEGV, &old[1], NULL);
    return signalled;
}
