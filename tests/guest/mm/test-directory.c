/* test-directory: a change of memory reaches every kernel that has something of it, and no other kernel is asked
 * (mm/directory/directory.md). Where there is one kernel, and on a Linux, the checks of what memory holds are the same.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "userland/bench/message_counts.h"
#include "userland/x86.h"

#define PAGES 64l
#define LATER 700l /* pages: in another table */

/* Every kernel has been here, so that each is a member. */
static void visit_all(void)
{
    for (int k = 0; k < kernels_count(); k++)
        kernels_go(k);
    kernels_go(0);
}

/* Kernels FIRST and SECOND write to the pages [FROM, TO) of AREA. */
static void share(char *area, long from, long to, int first, int second)
{
    kernels_go(first);
    for (long i = from; i < to; i++)
        area[i * PAGE] = 'a';
    kernels_go(second);
    for (long i = from; i < to; i++)
        area[i * PAGE]++;
}

/* True when no kernel can read the page of ADDRESS. */
static bool gone(const char *address)
{
    bool gone = true;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        gone = gone && !memory_readable(address);
    }
    kernels_go(0);
    return gone;
}

/* True when every kernel reads BYTE at ADDRESS, and can or cannot write there. */
static bool holds(char *address, char byte, bool writable)
{
    bool holds = true;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        holds = holds && *(volatile char *)address == byte && (writable || !memory_writable(address));
    }
    kernels_go(0);
    return holds;
}

static void test_changes(void)
{
    int last = kernels_count() - 1;

    visit_all();
    for (int by = 0; by < kernels_count(); by++) {
        char *area = spread_memory_map(PAGES + LATER, PRIVATE), *moved;

        if (area == NULL)
            return;
        share(area, 0, PAGES, by, last);
        share(area, PAGES, PAGES + 8, 0, 1);
        kernels_go(by);
        CHECK(munmap(area + PAGE, PAGE) == 0 && gone(area + PAGE), "munmap by %d", by);
        kernels_go(by);
        CHECK(mprotect(area + 2 * PAGE, PAGE, PROT_READ) == 0 && holds(area + 2 * PAGE, 'b', false), "mprotect by %d",
              by);
        kernels_go(by);
        CHECK(madvise(area + 3 * PAGE, PAGE, MADV_DONTNEED) == 0 && holds(area + 3 * PAGE, 0, true),
              "MADV_DONTNEED by %d", by);
        kernels_go(by);
        CHECK(mmap(area + 4 * PAGE, PAGE, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0) == area + 4 * PAGE &&
                  holds(area + 4 * PAGE, 0, true),
              "MAP_FIXED by %d", by);
        kernels_go(by);
        moved = mremap(area + 8 * PAGE, 8 * PAGE, 16 * PAGE, MREMAP_MAYMOVE);
        CHECK(moved != MAP_FAILED && moved != area + 8 * PAGE && holds(moved + 7 * PAGE, 'b', true) &&
                  gone(area + 9 * PAGE),
              "mremap by %d", by);
        kernels_go(by + 1); /* those that shared the old place are known to share the new one */
        CHECK(moved == MAP_FAILED || (munmap(moved, 16 * PAGE) == 0 && gone(moved + 7 * PAGE)), "after mremap by %d",
              by);
        CHECK(audit_own(), "after changes by %d", by);
        kernels_go(by);
        CHECK(munmap(area, (PAGES + LATER) * PAGE) == 0 && gone(area + PAGES * PAGE) && gone(area), "the rest by %d",
              by);
        CHECK(audit_own(), "at the end, by %d", by);
    }
}

static void test_neighbours(void)
{
    /* two mappings in one part of the directory: what goes with the one must not go with the other */
    visit_all();
    for (int by = 0; by < kernels_count(); by++) {
        char *area = spread_memory_map(PAGES, PRIVATE), *first, *second;

        if (area == NULL)
            return;
        first = area + (-(long)area & 0x7fff);
        second = first + 2 * PAGE;
        CHECK(munmap(first + PAGE, PAGE) == 0, "%s", strerror(errno));
        share(first, 0, 1, by, by + 1);
        share(second, 0, 1, by + 1, by + 2);
        kernels_go(by);
        CHECK(munmap(first, PAGE) == 0 && gone(first) && holds(second, 'b', true), "the first by %d", by);
        CHECK(audit_own(), "with the second");
        kernels_go(by);
        CHECK(munmap(area, PAGES * PAGE) == 0 && gone(second), "the second by %d", by);
    }
    CHECK(audit_own(), "at the end");
}

static void test_copied(void)
{
    char *area = spread_memory_map(PAGES, PRIVATE);
    int status = 0;
    pid_t child;

    if (area == NULL)
        return;
    visit_all();
    share(area, 0, PAGES, 0, 1);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        bool right = true;

        visit_all();
        for (int k = 0; k < kernels_count(); k++) {
            kernels_go(k);
            area[k * PAGE] = 'c';
        }
        for (int k = 0; k < kernels_count(); k++)
            right = right && holds(area + k * PAGE, 'c', true) && holds(area + (PAGES - 1) * PAGE, 'b', true);
        _exit(right && audit_own() && munmap(area, PAGES * PAGE) == 0 && gone(area) ? 7 : 8);
    }
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        area[(PAGES - 2 - k) * PAGE] = 'd';
    }
    for (int k = 0; k < kernels_count(); k++)
        CHECK(holds(area + (PAGES - 2 - k) * PAGE, 'd', true), "page of %d", k);
    CHECK(audit_own(), "after a fork");
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7,
          "the child ends with %x", status);
    kernels_go(1);
    CHECK(munmap(area, PAGES * PAGE) == 0 && gone(area) && gone(area + (PAGES - 1) * PAGE), "%s", strerror(errno));
}

/* Kernel BY writes to pages that OWNER has touched, and reads others, while a child has the same frames and after it
 * has ended: neither sees what the other writes. */
static void write_shared(char *area, int owner, int by)
{
    int status = 0, go[2];
    pid_t child;
    char byte;

    kernels_go(owner);
    memset(area, 'a', 8 * PAGE);
    kernels_go(by);
    CHECK(area[PAGE] == 'a' && area[3 * PAGE] == 'a', "fetched");
    fflush(stdout);
    if (!CHECK(pipe(go) == 0, "%s", strerror(errno)))
        return;
    child = fork();
    if (child == 0) {
        close(go[1]);
        _exit(read(go[0], &byte, 1) == 0 && holds(area, 'a', true) && holds(area + PAGE, 'a', true) ? 7 : 8);
    }
    area[0] = 'b';
    area[PAGE] = 'b';
    CHECK(holds(area, 'b', true) && holds(area + PAGE, 'b', true) && audit_own(), "of %d by %d", owner, by);
    CHECK(holds(area + 1, 'a', true) && holds(area + 2 * PAGE - 1, 'a', true), "the rest of the pages");
    close(go[0]);
    close(go[1]);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7,
          "the child ends with %x", status);
    kernels_go(by);
    area[2 * PAGE] = 'b'; /* no other space has these any more */
    area[3 * PAGE] = 'b';
    kernels_go(owner);
    area[2 * PAGE]++;
    area[4 * PAGE] = 'b';
    CHECK(holds(area + 2 * PAGE, 'c', true) && holds(area + 3 * PAGE, 'b', true) && holds(area + 4 * PAGE, 'b', true) &&
              holds(area + 5 * PAGE, 'a', true) && audit_own(),
          "alone again, of %d by %d", owner, by);
}

static void test_written(void)
{
    visit_all();
    for (int owner = 0; owner < kernels_count(); owner++) {
        for (int by = 0; by < kernels_count(); by++) {
            char *area = spread_memory_map(PAGES, PRIVATE);

            if (area == NULL)
                return;
            write_shared(area, owner, by);
            CHECK(munmap(area, PAGES * PAGE) == 0 && gone(area), "%s", strerror(errno));
        }
    }
    CHECK(audit_own(), "at the end");
}

/* Moves the break by the call itself: the C library's function does nothing. */
static bool set_break(char *end)
{
    return x86_syscall3(SYS_brk, (long)end, 0, 0) == (long)end;
}

static void test_broken(void)
{
    /* the break moves, and a kernel that has touched it is marked there */
    for (int by = 0; by < kernels_count(); by++) {
        char *end;

        kernels_go(by);
        end = (char *)x86_syscall3(SYS_brk, 0, 0, 0); // NOLINT(performance-no-int-to-ptr)
        end += -(long)end & (PAGE - 1);
        if (!CHECK(set_break(end + 8 * PAGE), "%s", strerror(errno)))
            return;
        share(end, 0, 8, by, by + 1);
        kernels_go(by + 2);
        CHECK(set_break(end + 4 * PAGE) && gone(end + 4 * PAGE) && holds(end + 3 * PAGE, 'b', true), "brk by %d",
              by + 2);
        CHECK(set_break(end) && gone(end), "brk back");
    }
    CHECK(audit_own(), "at the end");
}

/* The requests of TYPE that were sent between the two counts. */
static unsigned long sent(const struct message_counts *counts, const char *type)
{
    for (size_t i = 0; i < counts->count; i++) {
        if (strcmp(counts->rows[i].name, type) == 0)
            return counts->rows[i].sent;
    }
    return 0;
}

/* Protects and unmaps pages of AREA. Returns how many requests about that have been sent. */
static unsigned long asked_by_changes(char *area)
{
    static struct message_counts before, after;

    message_counts_read(&after);
    message_counts_read(&before);
    message_counts_read(&before);
    CHECK(mprotect(area, 16 * PAGE, PROT_READ) == 0 && munmap(area + 32 * PAGE, 8 * PAGE) == 0, "%s", strerror(errno));
    message_counts_read(&after);
    message_counts_since(&after, &before);
    return sent(&after, "SPACE_PROTECT") + sent(&after, "SPACE_UNMAP") + sent(&after, "SPACE_SETTLE");
}

static void test_asked(void)
{
    static struct message_counts counts;
    int others = kernels_count() - 1;
    char *area = spread_memory_map(PAGES, PRIVATE);
    unsigned long asked;

    if (area == NULL || others < 3 || !message_counts_read(&counts)) {
        tap_note("skipped: needs 4 kernels");
        return;
    }
    visit_all();
    share(area, 0, PAGES, 0, others);
    kernels_go(0);
    asked = asked_by_changes(area);
    CHECK(asked <= 3, "%lu requests to the one other kernel that has the pages", asked);
    CHECK(asked >= 2, "%lu requests", asked);
    munmap(area, PAGES * PAGE);
}

/* What every kernel has had and nobody has any more is known to nobody: a change of the same pages, which the home
 * alone has touched since, asks no kernel. */
static void test_forgotten(void)
{
    static struct message_counts counts;
    int others = kernels_count() - 1;
    char *area = spread_memory_map(PAGES, PRIVATE);
    unsigned long asked;

    if (area == NULL || others < 3 || !message_counts_read(&counts)) {
        tap_note("skipped: needs 4 kernels");
        return;
    }
    for (int k = 0; k <= others; k++)
        share(area, 0, PAGES, k, k + 1);
    kernels_go(0);
    CHECK(munmap(area, PAGES * PAGE) == 0 &&
              mmap(area, PAGES * PAGE, READ_WRITE, PRIVATE | MAP_FIXED_NOREPLACE, -1, 0) == area,
          "%s", strerror(errno));
    memset(area, 'a', PAGES * PAGE);
    asked = asked_by_changes(area);
    CHECK(asked == 0, "%lu requests to kernels that have nothing", asked);
    munmap(area, PAGES * PAGE);
}

/* The home copies for a kernel, or says that no other space has the frame, in its answer to the fault. */
static void test_one_question(void)
{
    static struct message_counts before, after;
    char *area = spread_memory_map(PAGES, PRIVATE);
    int go[2], status;
    char byte;
    pid_t child;

    if (area == NULL || kernels_count() < 3 || !message_counts_read(&after) || pipe(go) != 0) {
        tap_note("skipped: needs 3 kernels");
        return;
    }
    visit_all();
    memset(area, 'a', 16 * PAGE);
    kernels_go(1);
    memset(area + 16 * PAGE, 'a', 16 * PAGE);
    CHECK(area[0] == 'a', "fetched");
    fflush(stdout);
    child = fork();
    if (child == 0) {
        close(go[1]);
        _exit(read(go[0], &byte, 1) == 0 && area[0] == 'a' ? 7 : 8);
    }
    kernels_go(1);
    message_counts_read(&after);
    message_counts_read(&before);
    message_counts_read(&before);
    for (int i = 0; i < 8; i++) {
        area[i * PAGE] = 'b';        /* the home's frames; the first is mapped here */
        area[(16 + i) * PAGE] = 'b'; /* this kernel's */
    }
    message_counts_read(&after);
    message_counts_since(&after, &before);
    CHECK(sent(&after, "SPACE_GET") >= 16 && sent(&after, "SPACE_SWITCH") == 0 && sent(&after, "SPACE_FETCH") == 0,
          "%lu questions, %lu switches", sent(&after, "SPACE_GET"), sent(&after, "SPACE_SWITCH"));
    close(go[0]);
    close(go[1]);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, "child: %x", status);
    message_counts_read(&before);
    for (int i = 8; i < 16; i++) {
        area[i * PAGE] = 'b';
        area[(16 + i) * PAGE] = 'b';
    }
    message_counts_read(&after);
    message_counts_since(&after, &before);
    CHECK(sent(&after, "SPACE_GET") >= 16 && sent(&after, "SPACE_SWITCH") == 0 && sent(&after, "FRAME_SOLE") == 0,
          "%lu questions, %lu switches", sent(&after, "SPACE_GET"), sent(&after, "SPACE_SWITCH"));
    CHECK(audit_own() && holds(area, 'b', true) && holds(area + 31 * PAGE, 'b', true), "at the end");
    munmap(area, PAGES * PAGE);
}

/* A child that goes to every kernel and ends at home; on TOUCHES of them it touches a new page. Returns how many
 * kernels are asked to free memory at its end; *KILLED: how many are asked at all. */
static unsigned long freeing(int touches, unsigned long *killed)
{
    static struct message_counts before, after;
    char *area = spread_memory_map((long)kernels_count() + 1, PRIVATE);
    int go[2], status;
    char byte;
    pid_t child;

    if (area == NULL || pipe(go) != 0)
        return 0;
    area[0] = 'a';
    message_counts_read(&after);
    message_counts_read(&before);
    child = fork();
    if (child == 0) {
        for (int k = 1; k < kernels_count(); k++) {
            kernels_go(k);
            if (k <= touches)
                area[k * PAGE] = 'b';
        }
        kernels_go(0);
        _exit(write(go[1], "x", 1) == 1 && read(go[0], &byte, 1) == 1 && area[0] == 'a' ? 7 : 8);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, "child: %x", status);
    message_counts_read(&after);
    message_counts_since(&after, &before);
    close(go[0]);
    close(go[1]);
    munmap(area, ((long)kernels_count() + 1) * PAGE);
    *killed = sent(&after, "GROUP_KILL");
    return sent(&after, "GROUP_FREE");
}

/* The end of a process asks members that have memory of it twice, and the others once. */
static void test_ended(void)
{
    unsigned long others = (unsigned long)kernels_count() - 1, killed = 0, freed;

    if (others < 3) {
        tap_note("skipped: needs 4 kernels");
        return;
    }
    kernels_go(0);
    for (int touches = 0; touches < 3; touches++) {
        freed = freeing(touches, &killed);
        CHECK(killed == others && freed == (unsigned long)touches,
              "of %lu members %lu are asked, %lu of them twice: %d", others, killed, freed, touches);
    }
    CHECK(audit_own(), "at the end");
}

static const struct tap_test tests[] = {
    {"changes", "each kind of change reaches every kernel that has touched the pages, whoever makes it", test_changes},
    {"neighbours", "of two mappings side by side the one goes, and the kernels that have the other stay known",
     test_neighbours},
    {"copied", "pages that a child shares are copied for all kernels", test_copied},
    {"written", "a page that a child shares is copied for one kernel, or not when the child has ended", test_written},
    {"broken", "the break goes back for every kernel that has touched it", test_broken},
};
static const struct tap_test counted[] = {
    {"one_question", "a write to a page that a child shares asks the home once", test_one_question},
    {"ended", "the end of a process asks members without memory of it once, and the others twice", test_ended},
    {"asked", "a change asks the kernel that has touched the pages, and not the other members", test_asked},
    {"forgotten", "kernels whose pages are gone are not asked when the addresses are used again", test_forgotten},
};

int main(int argc, char **argv)
{
    kernels_find();
    if (tap_take(&argc, &argv, "asked"))
        return tap_run(argc, argv, counted, TAP_COUNT(counted));
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
