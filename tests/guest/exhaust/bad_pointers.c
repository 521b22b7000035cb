/* Bad addresses. See the header. The pages are those of a file in memory, which is mapped a second time where all of
 * them can be looked at. */
#include "tests/guest/exhaust/bad_pointers.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"

#define PAGE 4096ul
#define PAGES 8
#define BYTE 'Z' /* no end of a path, and no pointer */

enum { LAST, UNMAPPED, BEFORE_NONE, NONE, BEFORE_READ, READ, AFTER, END };
_Static_assert(END + 1 == PAGES, "each page has its use");

static char *pages;         /* as calls are given them */
static unsigned char *seen; /* the same, to look at */

void bad_pointers_map(void)
{
    int fd = (int)MUST(memfd_create("bad-pointers", 0));

    MUST(ftruncate(fd, PAGES * PAGE));
    seen = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(seen != MAP_FAILED && pages != MAP_FAILED, "no memory");
    close(fd);
    bad_pointers_fill();
    MUST(munmap(pages + UNMAPPED * PAGE, PAGE));
    MUST(mprotect(pages + NONE * PAGE, PAGE, PROT_NONE));
    MUST(mprotect(pages + READ * PAGE, PAGE, PROT_READ));
    MUST(munmap(pages + END * PAGE, PAGE));
}

void bad_pointers_fill(void)
{
    memset(seen, BYTE, PAGES * PAGE);
}

bool bad_pointers_hold(void)
{
    for (unsigned long i = 0; i < PAGES * PAGE; i++) {
        if (seen[i] != BYTE && i != (LAST + 1) * PAGE - 1)
            return false;
    }
    return true;
}

uint64_t bad_pointer(enum bad_pointer kind)
{
    switch (kind) {
    case BAD_ONE:
        return 1;
    case BAD_LAST:
        return (uint64_t)pages + (LAST + 1) * PAGE - 1;
    case BAD_UNMAPPED:
        return (uint64_t)pages + UNMAPPED * PAGE;
    case BAD_NO_ACCESS:
        return (uint64_t)pages + NONE * PAGE;
    case BAD_READ_ONLY:
        return (uint64_t)pages + READ * PAGE;
    case BAD_KERNEL:
        return (uint64_t)TAP_KERNEL_ADDRESS;
    case BAD_NONCANONICAL:
        return (uint64_t)TAP_NONCANONICAL;
    case BAD_WRAPS:
        return UINT64_MAX;
    default:
        return 0;
    }
}

const char *bad_pointer_name(enum bad_pointer kind)
{
    static const char *const names[BAD_COUNT] = {"NULL",      "1",      "the last byte", "unmapped", "PROT_NONE",
                                                 "read-only", "kernel", "non-canonical", "wraps"};

    return names[kind];
}
