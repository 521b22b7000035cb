/* test-many-areas: a process with as many areas as it may have. What cannot be done as a whole is not done in part. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"

#define PAIRS 33000 /* pages with and without rights in turns: more areas than a process may have */
#define SOME 200    /* areas: more than are changed without a pause */

static char *region, *made; /* MADE: where the pages in turns end */
static char *tail;          /* the last area, of several pages without rights */
static int ends[2];

/* Has the kernel write a byte to PAGE, or read one from it: 0 or an errno. */
static int try(char *page, bool write_it)
{
    ssize_t done = write_it ? write(ends[1], "x", 1) : 0;

    done = write_it ? read(ends[0], page, 1) : write(ends[1], page, 1);
    if (done == 1)
        return write_it || read(ends[0], (char[1]){0}, 1) == 1 ? 0 : EIO;
    if (write_it && errno == EFAULT)
        return read(ends[0], (char[1]){0}, 1) == 1 ? EFAULT : EIO;
    return errno;
}

/* The last SOME areas of pages in turns are as they were made: every other page can be read, and no page can be
 * written. */
static bool is_as_made(void)
{
    for (int i = 1; i <= SOME; i++) {
        char *page = made - i * PAGE;

        if (try(page, true) != EFAULT || try(page, false) != (i % 2 == 0 ? EFAULT : 0))
            return false;
    }
    return try(tail, false) == EFAULT;
}

static bool fill_up(void)
{
    int error = 0;

    region = mmap(NULL, 2l * PAIRS * PAGE, PROT_NONE, PRIVATE | MAP_NORESERVE, -1, 0);
    if (!CHECK(region != MAP_FAILED && pipe(ends) == 0, "%s", strerror(errno)))
        return false;
    for (tail = region; error == 0 && tail < region + 2l * PAIRS * PAGE; tail += error == 0 ? 2 * PAGE : 0)
        error = mprotect(tail + PAGE, PAGE, PROT_READ) != 0 ? errno : 0;
    made = tail;
    for (int prot = PROT_EXEC; mprotect(tail, PAGE, prot) == 0; tail += PAGE) /* one more, if there is room for one */
        prot = prot == PROT_EXEC ? PROT_READ : PROT_EXEC;
    return CHECK(error == ENOMEM && tail > region + SOME * PAGE, "%ld pages: %s", (long)(tail - region) / PAGE,
                 strerror(error));
}

/* From each kernel in turn: changes that would make one area more. */
static void try_changes(void)
{
    char *start = made - SOME * PAGE;
    size_t size = (size_t)(tail - start);

    for (int i = 0; i < kernels_count(); i++) {
        pid_t child;

        kernels_go(i);
        CHECK_ERROR(mprotect(start, size + PAGE, READ_WRITE), ENOMEM);
        CHECK(is_as_made(), "from kernel %d: mprotect is half made", i);
        CHECK(madvise(start, size + PAGE, MADV_DONTFORK) == -1, "madvise");
        CHECK(is_as_made(), "from kernel %d: madvise has changed what it should not", i);
        child = fork();
        if (child == 0)
            _exit(mprotect(start, size, PROT_READ) == 0 ? 0 : 1);
        CHECK_EXITS(child, 0);
    }
    kernels_go(0);
}

/* What makes no further area is done. */
static void try_whole(void)
{
    char *start = made - SOME * PAGE;
    size_t size = (size_t)(tail - start);

    kernels_go(1);
    CHECK(madvise(start, size, MADV_DONTFORK) == 0, "%s", strerror(errno));
    CHECK(mprotect(start, size, READ_WRITE) == 0, "%s", strerror(errno));
    CHECK(try(start, true) == 0 && try(tail - PAGE, true) == 0 && try(tail, false) == EFAULT, "all of it, and no more");
    CHECK(mprotect(start, size + PAGE, READ_WRITE) == 0, "there is room by now: %s", strerror(errno));
    CHECK(try(tail, true) == 0 && try(tail + PAGE, false) == EFAULT, "the end is cut");
    kernels_go(0);
}

/* In a process that is at home where it fills its space up: only the home counts all areas. */
static void test_changes(void)
{
    pid_t child;

    kernels_go(0);
    child = fork();
    if (child == 0) {
        if (fill_up()) {
            try_changes();
            try_whole();
        }
        _exit(0);
    }
    CHECK_EXITS(child, 0);
}

#define TABLE 512l
#define LEASED 16l /* page tables with a lease each */

/* How many pages in turns a process can make, beside LEASED empty tables of one area in which another kernel has
 * touched a page, or none has; -1: something else is wrong. The process uses and unmaps the area when it is full. */
static long count_beside(bool touched)
{
    char *area = mmap(NULL, 2 * LEASED * TABLE * PAGE, READ_WRITE, PRIVATE | MAP_NORESERVE, -1, 0);

    if (!CHECK(area != MAP_FAILED, "%s", strerror(errno)))
        return -1;
    madvise(area, 2 * LEASED * TABLE * PAGE, MADV_NOHUGEPAGE);
    kernels_go(1);
    for (long i = 0; touched && i < LEASED; i++)
        area[(2 * i + 1) * TABLE * PAGE + 200 * PAGE] = 't';
    kernels_go(0);
    if (!fill_up())
        return -1;
    for (long i = 0; i < LEASED; i++) {
        char *table = area + (2 * i + 1) * TABLE * PAGE;

        if (!CHECK(memory_writable(table) && memory_readable(table + 200 * PAGE) && memory_readable(table + 511 * PAGE),
                   "table %ld cannot be used at home", i))
            return -1;
        if (touched && !CHECK(table[200 * PAGE] == 't', "table %ld: a page is lost", i))
            return -1;
    }
    kernels_go(2);
    CHECK(!touched || area[TABLE * PAGE + 200 * PAGE] == 't', "a page is lost");
    kernels_go(0);
    CHECK(munmap(area, 2 * LEASED * TABLE * PAGE) == 0, "%s", strerror(errno));
    return (tail - region) / PAGE;
}

/* What kernels have leased in an area neither counts as areas, nor stays away from the home when that has no more. */
static void test_leased(void)
{
    int pipes[2];
    long made_beside[2] = {0, 0};

    if (!CHECK(pipe(pipes) == 0, "%s", strerror(errno)))
        return;
    kernels_go(0);
    for (int touched = 0; touched < 2; touched++) {
        pid_t child = fork();

        if (child == 0) {
            long count = count_beside(touched != 0);

            _exit(write(pipes[1], &count, sizeof(count)) == sizeof(count) ? 0 : 1);
        }
        CHECK_EXITS(child, 0);
        CHECK(read(pipes[0], &made_beside[touched], sizeof(long)) == sizeof(long), "%s", strerror(errno));
    }
    CHECK(made_beside[0] > 0 && made_beside[1] >= made_beside[0], "%ld areas beside what is leased, %ld without",
          made_beside[1], made_beside[0]);
    close(pipes[0]);
    close(pipes[1]);
}

#define FILE_PAGES 128l
#define MAPS 1040 /* with every other page of each, a kernel learns of more pieces than a process may have areas */

/* Touches every other page of maps of one file, on a kernel that learns of areas page by page. */
static int touch_pieces(void)
{
    int fd = memfd_create("pages", 0);
    long sum = 0;
    char *map;

    if (fd < 0 || ftruncate(fd, FILE_PAGES * PAGE) != 0 || kettle_retrieve(getpid(), "members") != 0)
        return 1;
    map = mmap(NULL, MAPS * FILE_PAGES * PAGE, PROT_NONE, PRIVATE | MAP_NORESERVE, -1, 0);
    for (int i = 0; i < MAPS; i++) {
        if (mmap(map + i * FILE_PAGES * PAGE, FILE_PAGES * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) ==
            MAP_FAILED)
            return 2;
    }
    kernels_go(1);
    for (long page = 0; page < MAPS * FILE_PAGES; page += 2)
        sum += *(volatile char *)(map + page * PAGE);
    return sum == 0 ? 0 : 3;
}

static void test_pieces(void)
{
    pid_t child;

    if (tap_skip_alone())
        return;
    kernels_go(0);
    child = fork();
    if (child == 0)
        _exit(touch_pieces());
    CHECK_EXITS(child, 0);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"changes", "a change of many areas is done as a whole, or not at all if it would make one too many",
         test_changes},
        {"leased", "what other kernels have leased in an area does not count as areas", test_leased},
        {"pieces", "a kernel that is not the home learns of areas in any number of pieces", test_pieces},
    };

    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
