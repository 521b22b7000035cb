/* Deaths and replicated pages (mm/replicate): of a kernel whose memory the pages were in before, of one that has
 * copies, and of their home. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "libc/numa.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define COPIED 32l

static char *copied;

static bool holds(char value)
{
    bool right = true;

    for (long i = 0; i < COPIED; i++)
        right &= ((volatile char *)copied)[i * PAGE] == value;
    return right;
}

static void *read_there(void *kernel)
{
    death_go((int)(intptr_t)kernel);
    if (!holds(7))
        atomic_fetch_add(&death_board->wrong, 1);
    atomic_fetch_add(&death_board->ready, 1);
    while (death_board->over == 0)
        sched_yield();
    if (!holds(7))
        atomic_fetch_add(&death_board->wrong, 1);
    atomic_fetch_add(&death_board->woken, 1);
    for (;;)
        pause();
    return NULL;
}

static void map_copied(void)
{
    copied = mmap(NULL, COPIED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(copied != MAP_FAILED, "no memory");
    memset(copied, 7, COPIED * PAGE);
}

static void replicate_to(int kernel)
{
    pthread_t thread;

    CHECK(kettle_block_replicate(copied, COPIED * PAGE) == COPIED, "not all pages are replicated");
    MUST(-pthread_create(&thread, NULL, read_there, (void *)(intptr_t)kernel));
    UNTIL(death_board->ready == 1, "a reader");
}

/* The pages were in memory of NODE, on which the dying kernel is; OTHER lives on. */
static void keep_pages(int node, int other)
{
    void *pages[COPIED];
    int nodes[COPIED], status[COPIED];

    map_copied();
    for (long i = 0; i < COPIED; i++) {
        pages[i] = copied + i * PAGE;
        nodes[i] = node;
    }
    MUST(syscall(SYS_move_pages, 0, COPIED, pages, nodes, status, 2)); /* MPOL_MF_MOVE */
    replicate_to(other);
    death_board->ready = 2;
    UNTIL(death_board->woken == 1, "the reader to read again");
    CHECK(holds(7), "pages are lost");
    memset(copied, 8, COPIED * PAGE);
    CHECK(holds(8), "writes are lost");
    _exit(6);
}

int death_home_copies(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    map_copied();
    CHECK(kettle_block_replicate(copied, COPIED * PAGE) == COPIED, "not all pages are replicated");
    death_go(0);
    if (!holds(7) || write(3, "r", 1) != 1)
        return 90;
    for (;;)
        pause();
}

void death_test_copies(void)
{
    int dying = death_victim(death_count), ends[2];
    char *argv[] = {(char *)(uintptr_t)tap_self(), "@copies", NULL}, byte;
    pid_t keeps, ends_there, at_home;

    death_begin();
    keeps = FORK();
    if (keeps == 0)
        keep_pages(kettle_node(dying), death_neighbour(dying));
    UNTIL(death_board->ready == 2, "copies of pages");
    death_board->ready = 0;
    ends_there = FORK();
    if (ends_there == 0) {
        map_copied();
        replicate_to(dying);
        death_board->ready = 2;
        for (;;)
            pause();
    }
    UNTIL(death_board->ready == 2, "copies on the dying kernel");
    MUST(pipe(ends));
    at_home = kettle_spawn(dying, argv[0], argv, (char *[]){NULL}, (const int[]){0, 1, 2, ends[1], KETTLE_FDS_END});
    CHECK(at_home > 0, "spawn on kernel %d: %s", dying, tap_error(errno));
    REQUIRE(read(ends[0], &byte, 1) == 1, "the process at home there says nothing");
    death_kill(dying, KETTLE_KILL_NOW);
    death_board->over = 1;
    CHECK_EXITS(keeps, 6);
    CHECK_DIES(ends_there, SIGKILL);
    CHECK_DIES(at_home, SIGKILL);
    CHECK(death_board->wrong == 0, "%ld readers found other bytes", death_board->wrong);
    MUST(close(ends[0]));
    MUST(close(ends[1]));
    death_audit();
    death_start_again(dying);
}
