/* test-death: pages of files that are in the memory of the kernel that dies. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define HALF (PAGES / 2)
#define MOVE_ALL 4 /* MPOL_MF_MOVE_ALL */

/* Moves the first half of the file's pages, which its parent maps, too, to memory of DYING. */
static void give_away(char *memory, int dying)
{
    void *pages[HALF];
    int nodes[HALF], status[HALF];

    death_go(dying);
    for (int i = 0; i < HALF; i++) {
        pages[i] = memory + (long)i * PAGE;
        nodes[i] = kettle_node(dying) ^ 1; /* not where it is, so that the next call moves it */
        status[i] = -1;
    }
    MUST(syscall(SYS_move_pages, 0, HALF, pages, nodes, status, MOVE_ALL));
    for (int i = 0; i < HALF; i++)
        nodes[i] = kettle_node(dying);
    MUST(syscall(SYS_move_pages, 0, HALF, pages, nodes, status, MOVE_ALL));
    for (int i = 0; i < HALF; i++)
        CHECK(status[i] == nodes[i], "page %d: %d", i, status[i]);
    _exit(0);
}

static char *map(int fd, int type)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, type, fd, 0);

    REQUIRE(memory != MAP_FAILED, "%s", tap_error(errno));
    return memory;
}

static void lose_file(int dying)
{
    int fd = (int)MUST(memfd_create("lost", 0));
    char *memory, *again, byte[2 * PAGE];
    pid_t child;

    death_catch_bus();
    MUST(ftruncate(fd, PAGES * PAGE));
    memory = map(fd, MAP_SHARED);
    memset(memory, 3, PAGES * PAGE);
    child = FORK();
    if (child == 0)
        give_away(memory, dying);
    CHECK_EXITS(child, 0);
    CHECK(pread(fd, byte, sizeof(byte), PAGE) == sizeof(byte) && byte[PAGE] == 3, "before");
    death_board->ready = 1;
    while (death_board->over == 0)
        sched_yield();
    CHECK(death_is_lost(memory, 0) && death_is_lost(memory + PAGE, 1), "a page that was mapped");
    CHECK_ERROR(pread(fd, byte, sizeof(byte), 0), EIO);
    CHECK_ERROR(pwrite(fd, byte, sizeof(byte), PAGE), EIO);
    CHECK(pread(fd, byte, sizeof(byte), HALF * PAGE) == sizeof(byte) && byte[PAGE] == 3, "the other half");
    CHECK(pwrite(fd, byte, PAGE, HALF * PAGE) == PAGE, "%s", tap_error(errno));
    for (int i = HALF; i < PAGES; i++)
        CHECK(memory[(long)i * PAGE] == 3, "page %d", i);
    for (int type = 1; type <= 2; type++) { /* MAP_SHARED, MAP_PRIVATE */
        again = map(fd, type);
        CHECK(death_is_lost(again, 0) && death_is_lost(again + PAGE, 1) && again[HALF * PAGE] == 3, "mapped again");
        MUST(munmap(again, PAGES * PAGE));
    }
    /* the file loses the pages, and has new ones */
    MUST(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE));
    CHECK(pread(fd, byte, 1, 0) == 1 && byte[0] == 0, "a hole has %d", byte[0]);
    MUST(ftruncate(fd, 0));
    MUST(ftruncate(fd, PAGES * PAGE));
    CHECK(pwrite(fd, "new", 3, PAGE) == 3 && pread(fd, byte, 4, PAGE) == 4 && strcmp(byte, "new") == 0, "new pages");
    again = map(fd, MAP_SHARED);
    CHECK(again[0] == 0 && strcmp(again + PAGE, "new") == 0, "mapped new pages");
    _exit(5);
}

void death_test_file(void)
{
    int dying = death_victim(death_count);
    pid_t child;

    death_begin();
    if (kettle_node(dying) == 0 && kettle_node(death_victim(death_count + 1)) == 0) {
        tap_skip("one node");
        return;
    }
    child = FORK();
    if (child == 0)
        lose_file(dying);
    UNTIL(death_board->ready == 1, "pages in its memory");
    death_audit();
    death_kill(dying, KETTLE_KILL_NOW);
    death_audit();
    death_board->over = 1;
    CHECK_EXITS(child, 5);
    death_audit();
    death_start_again(dying);
}
