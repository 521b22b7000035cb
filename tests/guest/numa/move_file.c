/* Pages of files move, which readers, writers, mappings and calls use meanwhile: tests of test-move.
 *
 * A file of PAGES pages, as test-move.c has them. Some writers write their lines through mappings, others by pwrite;
 * the readers read what they have mapped, and by pread. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/events.h"
#include "tests/guest/numa/move.h"
#include "tests/guest/numa/node.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define MAPPED 4 /* writers, besides as many that call */
#define STRICT 1 /* MPOL_MF_STRICT */
#define SHARERS 3
#define COPIES 32 /* private mappings of a process */
#define NAME "/tmp/moved-file"

/* What the processes share, besides the file. */
struct shared {
    atomic_int ready, over;
    atomic_ulong wrong;
};
static struct shared *state;
static int file = -1;
static atomic_bool over;

/* The nodes of COUNT pages from the one of ROUND on, each for STEP pages. */
static void wanted_in(long round, long step, long count, int *wanted)
{
    for (long i = 0; i < count; i++)
        wanted[i] = (int)((round + i / step) % move_node_count);
}

/* Makes a file of KIND with PAGES pages, mapped at move_area: a "segment" of System V, a "memfd", or a "file". */
static bool begin_file(const char *kind)
{
    int segment;

    file = -1;
    move_area = MAP_FAILED;
    if (strcmp(kind, "segment") == 0) {
        segment = shmget(IPC_PRIVATE, PAGES * PAGE, 0600);
        if (!CHECK(segment >= 0, "%s", strerror(errno)))
            return false;
        move_area = shmat(segment, NULL, 0);
        shmctl(segment, IPC_RMID, NULL);
    } else {
        file = strcmp(kind, "memfd") == 0 ? memfd_create(kind, 0) : open(NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (!CHECK(file >= 0 && ftruncate(file, PAGES * PAGE) == 0, "%s", strerror(errno)))
            return false;
        move_area = mmap(NULL, PAGES * PAGE, READ_WRITE, MAP_SHARED, file, 0);
    }
    if (!CHECK(move_area != MAP_FAILED, "%s", strerror(errno)))
        return false;
    atomic_store(&over, false);
    move_fill();
    return true;
}

static void end_file(void)
{
    CHECK(atomic_load(&move_wrong) == 0, "%lu lines were wrong", atomic_load(&move_wrong));
    CHECK(audit_own(), "at the end");
    kernels_go(0);
    munmap(move_area, PAGES * PAGE);
    if (file >= 0)
        close(file);
    unlink(NAME);
}

static off_t place_of(long page, int writer)
{
    return page * PAGE + (off_t)(writer * 8 * (long)sizeof(struct line));
}

/* As move_write_line, by calls. */
static void call_write_line(int writer, long page)
{
    unsigned long line[2] = {0};
    off_t at = place_of(page, writer);

    if (pread(file, line, sizeof(line), at) != sizeof(line) || line[0] != move_written[writer][page] ||
        line[1] != move_mark_of(page, writer, line[0]))
        atomic_fetch_add(&move_wrong, 1);
    line[0]++;
    line[1] = move_mark_of(page, writer, line[0]);
    if (pwrite(file, line, sizeof(line), at) != sizeof(line) ||
        atomic_load(&move_area[page].line[writer * 8].count) != line[0]) /* the mapping has it, on whichever kernel */
        atomic_fetch_add(&move_wrong, 1);
    move_written[writer][page] = line[0];
}

/* A page whose line is read by a mapping and by a call: neither is older than what was read before. */
static void read_both(int reader, long page, int writer)
{
    unsigned long count = 0;

    move_read_line(reader, page, writer);
    if (file < 0)
        return;
    if (pread(file, &count, sizeof(count), place_of(page, writer)) != sizeof(count) ||
        count < move_seen[reader][page][writer])
        atomic_fetch_add(&move_wrong, 1);
    move_seen[reader][page][writer] = count;
    move_read_line(reader, page, writer);
}

static void file_writer(struct thread *thread)
{
    uint64_t random = (uint64_t)thread->index;

    for (long i = 0; !atomic_load(&over); i++) {
        long page = (long)(tap_random(&random) % PAGES);

        if (i % 256 == 0)
            kernels_go((long)(tap_random(&random) % KERNELS_MAX));
        if (thread->index < MAPPED || file < 0)
            move_write_line(thread->index, page);
        else
            call_write_line(thread->index, page);
        x86_pause();
    }
}

static void file_reader(struct thread *thread)
{
    uint64_t random = (uint64_t)thread->index + 77;

    kernels_go(thread->index);
    atomic_fetch_add(&move_arrived, 1);
    while (!atomic_load(&over)) {
        uint64_t next = tap_random(&random);

        read_both(thread->index, (long)(next % PAGES), (int)((next >> 32) % WRITERS));
        x86_pause();
    }
}

/* The file's pages go to NODE and back by mbind and migrate_pages. */
static void goes_by_policy(const char *kind, int node)
{
    int other = (node + 1) % move_node_count;
    unsigned long there = 1ul << node, from = there, to = 1ul << other;

    CHECK(syscall(SYS_mbind, move_area, PAGES * PAGE, MOVE_BIND, &there, BITS + 1, MOVE | STRICT) == 0, "%s to %d: %s",
          kind, node, strerror(errno));
    for (long i = 0; i < PAGES; i++)
        CHECK(node_of(&move_area[i]) == node, "%s, mbind to %d: page %ld", kind, node, i);
    CHECK(syscall(SYS_migrate_pages, 0, BITS + 1, &from, &to) >= 0, "%s", strerror(errno));
    for (long i = 0; i < PAGES; i++)
        CHECK(node_of(&move_area[i]) == other, "%s, migrate_pages to %d: page %ld", kind, other, i);
}

static void file_goes_round(const char *kind)
{
    struct thread threads[WRITERS + READERS] = {{0}};
    unsigned long moved = events_everywhere("pages_moved"), all = 0;
    long left;
    static int wanted[PAGES], status[PAGES];

    if (!begin_file(kind))
        return;
    for (int i = 0; i < WRITERS + READERS; i++) {
        threads[i].index = i < WRITERS ? i : i - WRITERS;
        REQUIRE(thread_start(&threads[i], i < WRITERS ? file_writer : file_reader), "%s", strerror(errno));
    }
    UNTIL(atomic_load(&move_arrived) == READERS, "readers");
    for (long round = 0; round < move_rounds; round++) {
        kernels_go(round);
        wanted_in(round, 1 + round % 7, PAGES, wanted);
        left = move_call(move_area, PAGES, wanted, status, MOVE);
        CHECK(left == 0, "%s, round %ld: %ld, not 0", kind, round, left);
        for (long i = 0; i < PAGES; i++)
            CHECK(status[i] == wanted[i], "%s, round %ld page %ld: %d, not %d", kind, round, i, status[i], wanted[i]);
    }
    atomic_store(&over, true);
    for (int i = 0; i < WRITERS + READERS; i++)
        CHECK(thread_join(&threads[i]), "thread %d", i);
    for (int node = 0; node < move_node_count; node++)
        goes_by_policy(kind, node);
    for (long i = 0; i < PAGES; i++) {
        for (int k = 0; k < WRITERS; k++) {
            CHECK(atomic_load(&move_area[i].line[k * 8].count) == move_written[k][i], "%s, page %ld, writer %d", kind,
                  i, k);
            all += move_written[k][i];
        }
    }
    moved = events_everywhere("pages_moved") - moved;
    tap_note("%s: %lu pages moved beside %lu writes", kind, moved, all);
    end_file();
}

void move_test_files(void)
{
    static const char *const kinds[] = {"file", "memfd", "segment"};

    if (move_skip_one_node())
        return;
    for (size_t i = 0; i < TAP_COUNT(kinds); i++)
        file_goes_round(kinds[i]);
}

/* Maps the page anew, so that the next touch gets it from the file. */
static bool map_again(long page)
{
    return mmap(&move_area[page], PAGE, READ_WRITE, MAP_SHARED | MAP_FIXED, file, page * PAGE) == &move_area[page];
}

/* A process with mappings of its own, private ones among them, which reads and writes them and the file. */
static int file_sharer(int self)
{
    uint64_t random = (uint64_t)self + 3;

    memset(move_seen, 0, sizeof(move_seen));
    atomic_fetch_add(&state->ready, 1);
    for (long i = 0; atomic_load(&state->over) == 0; i++) {
        long page = (long)(tap_random(&random) % PAGES);

        if (i % 64 == 0)
            kernels_go((long)(tap_random(&random) % KERNELS_MAX));
        if (i % 16 == 7 && !map_again(page))
            atomic_fetch_add(&state->wrong, 1);
        if (i % 2 == 0)
            move_write_line(self, page);
        else
            call_write_line(self, page);
        read_both(0, page, (int)(tap_random(&random) % (SHARERS + 1)));
    }
    return atomic_load(&move_wrong) == 0 ? 0 : 1;
}

/* A process that maps pages of the file privately, and nothing else of it: reads each, and after a while writes to its
 * own copy of a line that nobody else writes; the file does not get that. */
static int file_copier(int self)
{
    struct page *copies[COPIES] = {NULL};
    long pages[COPIES] = {0};
    uint64_t random = (uint64_t)self + 3;

    munmap(move_area, PAGES * PAGE);
    atomic_fetch_add(&state->ready, 1);
    for (long i = 0; atomic_load(&state->over) == 0; i++) {
        unsigned k = (unsigned)(tap_random(&random) % COPIES);
        unsigned long line[2] = {1, 1};

        if (i % 16 == 0)
            kernels_go((long)(tap_random(&random) % KERNELS_MAX));
        if (copies[k] == NULL) {
            pages[k] = (long)(tap_random(&random) % PAGES);
            copies[k] = mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, file, pages[k] * PAGE);
            if (copies[k] == MAP_FAILED ||
                atomic_load(&copies[k]->line[self * 8].mark) != move_mark_of(pages[k], self, 0))
                atomic_fetch_add(&state->wrong, 1);
            continue;
        }
        usleep(100); /* time for a move */
        atomic_store(&copies[k]->line[self * 8].mark, 0);
        if (pread(file, line, sizeof(line), place_of(pages[k], self)) != sizeof(line) || line[0] != 0 ||
            line[1] != move_mark_of(pages[k], self, 0) || munmap(copies[k], PAGE) != 0)
            atomic_fetch_add(&state->wrong, 1);
        copies[k] = NULL;
    }
    return 0;
}

/* Moves all pages beside the processes that share them. Returns how many have moved. */
static long move_for_all(long round)
{
    static int wanted[PAGES], status[PAGES];
    long moved = 0, left;

    kernels_go(round);
    wanted_in(round, 1 + round % 5, PAGES, wanted);
    left = move_call(move_area, PAGES, wanted, status, MOVE | MOVE_ALL);
    CHECK(left == 0, "round %ld: %ld, not 0", round, left);
    for (long i = 0; i < PAGES; i++) {
        moved += status[i] == wanted[i];
        /* one that a process is mapping stays */
        CHECK(status[i] == wanted[i] || status[i] == -EBUSY || !tap_on_kettle(), "round %ld page %ld: %d, not %d",
              round, i, status[i], wanted[i]);
        move_write_line(SHARERS, i);
        call_write_line(SHARERS, i);
    }
    return moved;
}

/* Processes on several kernels that map a file: all follow, with MPOL_MF_MOVE_ALL. */
void move_test_file_sharers(void)
{
    int wanted, status = -1;
    pid_t children[SHARERS + 1];
    long moved = 0, round = 0;

    state = tap_share(sizeof(*state));
    if (move_skip_one_node() || !begin_file("memfd") || !CHECK(state != NULL, "shared memory"))
        return;
    for (int i = 0; i <= SHARERS; i++) {
        kernels_go(i);
        children[i] = fork();
        if (children[i] == 0)
            _exit(i < SHARERS ? file_sharer(i) : file_copier(SHARERS + 1));
        REQUIRE(children[i] > 0, "%s", strerror(errno));
    }
    UNTIL(atomic_load(&state->ready) == SHARERS + 1, "children");
    wanted = node_of(move_area) == 0 ? 1 : 0;
    CHECK(move_call(move_area, 1, &wanted, &status, MOVE) == 0 && status == -EACCES, "without MPOL_MF_MOVE_ALL: %d",
          status);
    for (; round < move_rounds; round++)
        moved += move_for_all(round);
    /* who maps pages may stand still meanwhile, as its CPU has no turn */
    UNTIL(moved >= move_rounds * PAGES / 4 || (moved += move_for_all(round++)) >= move_rounds * PAGES / 4,
          "pages that go where they should");
    atomic_store(&state->over, 1);
    for (int i = 0; i <= SHARERS; i++) {
        int left = tap_wait(children[i]);

        CHECK(left == 0, "child %d: %d", i, left);
    }
    CHECK(atomic_load(&state->wrong) == 0, "%lu private pages were wrong", atomic_load(&state->wrong));
    tap_note("%ld of %ld", moved, round * PAGES);
    end_file();
}

/* The bytes of the file from FIRST to LAST are zeros, which the file may be too short for beyond PAGES pages. */
static void expect_zeros(off_t first, off_t last)
{
    const char *mapped = (const char *)move_area;

    for (off_t i = first; i < last && i < PAGES * PAGE; i += 61) {
        char byte = 1;

        if (pread(file, &byte, 1, i) != 1 || byte != 0 || mapped[i] != 0)
            atomic_fetch_add(&move_wrong, 1);
    }
}

static void cut_once(uint64_t next)
{
    static char bytes[3 * PAGE];
    off_t size = (off_t)sizeof(bytes), at = (off_t)(next % (PAGES * PAGE)), end = at + PAGE / 3;
    int again;

    memset(bytes, (int)(1 + (next >> 32) % 255), sizeof(bytes));
    if (pwrite(file, bytes, sizeof(bytes), at) != size)
        atomic_fetch_add(&move_wrong, 1);
    switch ((next >> 40) % 3) {
    case 0: /* in the middle of a page that the call has written */
        if (ftruncate(file, end) != 0 || ftruncate(file, PAGES * PAGE + size) != 0)
            atomic_fetch_add(&move_wrong, 1);
        expect_zeros(end, at + size);
        break;
    case 1:
        if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at + 17, 2 * PAGE) != 0 ||
            ftruncate(file, PAGES * PAGE + size) != 0)
            atomic_fetch_add(&move_wrong, 1);
        expect_zeros(at + 17, at + 17 + 2 * PAGE);
        break;
    default:
        again = open(NAME, O_RDWR | O_TRUNC);
        if (again < 0 || close(again) != 0 || ftruncate(file, PAGES * PAGE) != 0)
            atomic_fetch_add(&move_wrong, 1);
        expect_zeros(at, at + size);
    }
}

/* Cuts the file, punches holes and writes it again, while its pages go round. */
static void cutter(struct thread *thread)
{
    uint64_t random = 9;

    (void)thread;
    atomic_fetch_add(&move_arrived, 1);
    while (!atomic_load(&over)) {
        kernels_go((long)(tap_random(&random) % KERNELS_MAX));
        cut_once(tap_random(&random));
    }
}

/* Moves the pages that the file has. Returns how many have moved. */
static long move_beside_cuts(long round)
{
    static int wanted[PAGES], status[PAGES];
    long moved = 0, left;

    kernels_go(round);
    for (long i = 0; i < PAGES; i++)
        memory_readable(&move_area[i]); /* a page behind the end of the file is not */
    wanted_in(round, 1 + round % 7, PAGES, wanted);
    left = move_call(move_area, PAGES, wanted, status, MOVE);
    CHECK(left == 0, "round %ld: %ld, not 0", round, left);
    for (long i = 0; i < PAGES; i++) {
        moved += status[i] == wanted[i];
        CHECK(status[i] == wanted[i] || status[i] == -ENOENT || status[i] == -EBUSY || status[i] == -EACCES,
              "round %ld page %ld: %d, not %d", round, i, status[i], wanted[i]);
    }
    return moved;
}

void move_test_file_cut(void)
{
    struct thread thread = {0};
    long moved = 0, round = 0;

    if (move_skip_one_node() || !begin_file("file"))
        return;
    REQUIRE(thread_start(&thread, cutter), "%s", strerror(errno));
    UNTIL(atomic_load(&move_arrived) == 1, "cutter");
    for (; round < 2 * move_rounds; round++)
        moved += move_beside_cuts(round);
    /* the cutter may have stood where the file had no page, while its CPU had no turn */
    UNTIL(moved > 0 || (moved = move_beside_cuts(round++)) > 0, "a page that moves");
    atomic_store(&over, true);
    CHECK(thread_join(&thread), "cutter");
    tap_note("%ld pages moved", moved);
    end_file();
}

/* Reads each page through a private mapping, and writes to it when the pages have moved. */
static int file_private(void)
{
    struct page *copies = mmap(NULL, PAGES * PAGE, READ_WRITE, MAP_PRIVATE, file, 0);

    munmap(move_area, PAGES * PAGE);
    for (long i = 0; i < PAGES && copies != MAP_FAILED; i++)
        atomic_fetch_add(&state->wrong, atomic_load(&copies[i].line[0].mark) != move_mark_of(i, 0, 0));
    atomic_fetch_add(&state->ready, 1);
    while (atomic_load(&state->over) == 0)
        usleep(100);
    for (long i = 0; i < PAGES && copies != MAP_FAILED; i++) {
        atomic_fetch_add(&state->wrong, atomic_load(&copies[i].line[0].mark) != move_mark_of(i, 0, 0));
        atomic_store(&copies[i].line[0].mark, 0);
    }
    return copies != MAP_FAILED ? 0 : 1;
}

/* Private mappings of pages that move keep the file's frame, which is still not theirs to write to. */
void move_test_file_private(void)
{
    static int wanted[PAGES], status[PAGES];
    long left;

    state = tap_share(sizeof(*state));
    if (move_skip_one_node() || !begin_file("memfd") || !CHECK(state != NULL, "shared memory"))
        return;
    for (long round = 0; round < 2 * move_node_count; round++) {
        pid_t child;

        atomic_store(&state->ready, 0);
        atomic_store(&state->over, 0);
        kernels_go(round);
        child = fork();
        if (child == 0)
            _exit(file_private());
        UNTIL(atomic_load(&state->ready) == 1, "a private mapping");
        kernels_go(round / 2);
        wanted_in(round, 1 + round % 5, PAGES, wanted);
        left = move_call(move_area, PAGES, wanted, status, MOVE | MOVE_ALL);
        CHECK(left == 0, "round %ld: %ld, not 0", round, left);
        for (long i = 0; i < PAGES; i++)
            CHECK(status[i] == wanted[i], "round %ld page %ld: %d, not %d", round, i, status[i], wanted[i]);
        atomic_store(&state->over, 1);
        CHECK(tap_wait(child) == 0, "child of round %ld", round);
        for (long i = 0; i < PAGES; i++)
            CHECK(atomic_load(&move_area[i].line[0].mark) == move_mark_of(i, 0, 0), "round %ld page %ld", round, i);
    }
    CHECK(atomic_load(&state->wrong) == 0, "%lu private pages were wrong", atomic_load(&state->wrong));
    end_file();
}
