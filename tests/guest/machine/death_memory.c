/* test-death: memory of the kernel that dies which processes elsewhere map, and memory that it moves for others. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

static sigjmp_buf back;
static siginfo_t caught;

static void on_bus(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    caught = *info;
    siglongjmp(back, 1);
}

void death_catch_bus(void)
{
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

    MUST(sigaction(SIGBUS, &action, NULL));
}

bool death_is_lost(char *address, int write)
{
    memset(&caught, 0, sizeof(caught));
    if (sigsetjmp(back, 1) != 0)
        return caught.si_signo == SIGBUS && caught.si_code == BUS_MCEERR_AR && caught.si_addr == address;
    if (write)
        *(volatile char *)address = 1;
    else
        (void)*(volatile char *)address;
    return 0;
}

static void *read_all(void *memory)
{
    death_go(death_neighbour(death_victim(death_count)));
    for (int i = 0; i < PAGES; i++)
        (void)((volatile char *)memory)[(long)i * PAGE];
    atomic_fetch_add(&death_board->ready, 1);
    for (;;)
        pause();
    return NULL;
}

static void lose_pages(int shared, int node)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS,
                        -1, 0);
    unsigned long set = 1ul << node;
    char *here = memory + PAGES / 2 * PAGE, *end = memory + PAGES * PAGE;
    pthread_t thread;
    pid_t child;

    death_catch_bus();
    MUST(syscall(SYS_mbind, memory, PAGES / 2 * PAGE, 2, &set, 64, 0)); /* MPOL_BIND */
    memset(memory, 3, PAGES * PAGE);
    MUST(-pthread_create(&thread, NULL, read_all, memory));
    UNTIL(death_board->ready == 1, "a reader of all pages");
    death_board->ready = 2;
    while (death_board->over == 0)
        sched_yield();
    CHECK(death_is_lost(memory, 0) && death_is_lost(memory + PAGE, 1) && death_is_lost(here - 1, 0), "code %d at %p",
          caught.si_code, caught.si_addr);
    for (char *at = here; at < end; at += PAGE)
        CHECK(*at == 3, "%d at %p, which was not there", *at, (void *)at);
    CHECK_ERROR(write((int)MUST(open("/tmp/death-out", O_CREAT | O_WRONLY, 0600)), memory, 1), EFAULT);
    CHECK_ERROR(mlock(memory, PAGE), ENOMEM);
    CHECK_ERROR(madvise(memory, PAGE, 22 /* MADV_POPULATE_READ */), EHWPOISON);
    if (shared != 0)
        CHECK_ERROR((long)mremap(memory, 0, 4 * PAGE, MREMAP_MAYMOVE), EFAULT);
    child = FORK();
    if (child == 0)
        _exit(death_is_lost(memory + 2 * PAGE, 0) && *here == 3 ? 3 : 4);
    CHECK_EXITS(child, 3);
    MUST(mprotect(memory, PAGES * PAGE, PROT_READ));
    CHECK(death_is_lost(memory, 0) && *here == 3, "after mprotect");
    REQUIRE(mmap(memory, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory, "%s",
            tap_error(errno));
    CHECK(memory[0] == 0 && death_is_lost(memory + PAGE, 0), "a new page has %d", memory[0]);
    MUST(munmap(memory, PAGES * PAGE));
    _exit(5);
}

/* Processes that were never there, but have memory of it, private and shared. */
void death_test_borrowed(void)
{
    int dying = death_victim(death_count), node = kettle_node(dying), alone = 1;

    for (int i = 0; i < death_count; i++)
        alone &= death_kernels[i] == dying || kettle_node(death_kernels[i]) != node;
    if (!alone) {
        tap_skip("no kernel but 0 has a node for itself");
        return;
    }
    for (int shared = 0; shared < 2; shared++) {
        pid_t child;

        death_begin();
        child = FORK();
        if (child == 0)
            lose_pages(shared, node);
        UNTIL(death_board->ready == 2, "memory of another node");
        death_kill(dying, KETTLE_KILL_NOW);
        death_audit();
        death_board->over = 1;
        CHECK_EXITS(child, 5);
        death_audit();
        death_start_again(dying);
    }
}

/* Moves memory that its parent shares from node to node. */
static void move_for_ever(char *memory)
{
    void *pages[PAGES];
    int nodes[PAGES], status[PAGES];

    for (int i = 0; i < PAGES; i++)
        pages[i] = memory + (long)i * PAGE;
    for (long round = 0;; round++) {
        for (int i = 0; i < PAGES; i++)
            nodes[i] = kettle_node(death_kernels[round % death_count]);
        MUST(syscall(SYS_move_pages, 0, PAGES, pages, nodes, status, 4)); /* MPOL_MF_MOVE_ALL */
        for (int i = 0; i < PAGES; i++)
            atomic_fetch_add(&death_board->done[0], status[i] == nodes[i]);
    }
}

/* Shares memory, or FILE if that is not negative, with a process that moves it on DYING, and uses it until that is
 * over.
 */
static int share_moving(int dying, int file)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file,
                        0);
    long value = 0;

    memset(memory, 0, PAGES * PAGE);
    if (FORK() == 0) {
        death_go(dying);
        move_for_ever(memory);
    }
    for (; death_board->over == 0 || value % PAGES != 0; value++) {
        volatile long *word = (volatile long *)(void *)(memory + value % PAGES * PAGE);

        if (*word != value / PAGES)
            return 9;
        *word = value / PAGES + 1;
    }
    MUST(mprotect(memory, PAGES * PAGE, PROT_READ)); /* waits for its lock */
    MUST(munmap(memory, PAGES * PAGE));
    return 8;
}

/* Each page of FILE can be written to, or is lost. */
static void check_moved(int file)
{
    for (int i = 0; i < PAGES; i++) {
        long value = -1;
        ssize_t length = pread(file, &value, sizeof(value), (long)i * PAGE);

        CHECK((length == sizeof(value) && pwrite(file, &value, sizeof(value), (long)i * PAGE) == length) ||
                  (length < 0 && errno == EIO),
              "page %d: %ld of %ld bytes, %s", i, (long)length, value, tap_error(errno));
    }
    MUST(close(file));
}

/* The mover of memory that processes share, or of a file, dies: these are not left with pages that are locked or
 * differ. They may have got memory of its kernel, or be in the middle of a move. */
void death_test_mover(void)
{
    int ends[2] = {0, 0};

    for (int k = 0; k < death_rounds; k++) {
        int dying = death_victim(k), status = 0, file = k % 2 != 0 ? (int)MUST(memfd_create("moved", 0)) : -1;
        pid_t child;

        if (file >= 0)
            MUST(ftruncate(file, PAGES * PAGE));
        death_begin();
        child = FORK();
        if (child == 0)
            _exit(share_moving(dying, file));
        UNTIL(death_board->done[0] > 20 + 7 * k, "pages that have moved");
        death_kill(dying, k % (KETTLE_KILL_HALT + 1));
        death_board->over = 1;
        MUST(waitpid(child, &status, 0));
        ends[WIFEXITED(status)]++;
        CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 8) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS),
              "round %d: status %x", k, (unsigned)status);
        if (file >= 0)
            check_moved(file);
        death_audit();
        death_start_again(dying);
    }
    tap_note("%d processes went on, %d ended by SIGBUS", ends[1], ends[0]);
}
