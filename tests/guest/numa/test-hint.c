/* test-hint: with numasee=faults a page that a look has hidden faults once, at the next access, and that access is
 * counted for the node of the CPU; whatever happens to hidden pages, nothing else tells them from others. The program
 * has one thread, so what all kernels count together is what this thread has done. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/events.h"
#include "tests/guest/numa/node.h"

#define PAGES 64l
#define HUGE (2l << 20)
#define HUGE_PAGES (HUGE / PAGE)
#define MPOL_BIND 2
#define MPOL_MF_MOVE 2

extern const char __executable_start, end; /* of the program: the linker's */

static char *area, *decoy;
static int first_node, node; /* where the area was touched first, and where it is used */

struct sample {
    unsigned long faults, local, remote, hidden, looks;
};

static struct sample sample(void)
{
    return (struct sample){events_everywhere("hint_faults"), events_everywhere("seen_local"),
                           events_everywhere("seen_remote"), events_everywhere("hints_set"),
                           events_everywhere("seen_looks")};
}

static volatile long *word_of(const char *memory, long page)
{
    return (volatile long *)(uintptr_t)(memory + page * PAGE);
}

static void touch(const char *memory, long pages)
{
    for (long i = 0; i < pages; i++)
        *word_of(memory, i) += 1;
}

/* Two looks of this kernel end, so one has begun and ended: what was used before is hidden. Then none for 10 s. */
static void hide(void)
{
    int kernel = kettle_kernel();
    unsigned long looks = events_of(kernel, "seen_looks");

    MUST(kettle_control("numaperiod=1"));
    UNTIL(events_of(kernel, "seen_looks") >= looks + 2, "two looks");
    MUST(kettle_control("numaperiod=10000"));
}

static void nothing(void)
{
}

/* Shows what is hidden of the program itself, too. */
static void use_decoy(void)
{
    touch(decoy, PAGES);
    for (uintptr_t at = (uintptr_t)&__executable_start; at < (uintptr_t)&end; at += PAGE)
        memory_readable((const void *)at);
}

/* What is counted while STEP runs, after PREPARE, on hidden pages. A measurement that a look has disturbed is none: one
 * may have begun before hide returned, and end later. */
static struct sample measure(void (*renew)(void), void (*prepare)(void), void (*step)(void))
{
    struct sample before, after;
    unsigned long looks;

    do {
        renew();
        hide();
        looks = events_everywhere("seen_looks");
        prepare();
        for (int i = 0; i < 2; i++) { /* the first time shows the program's own pages that this uses */
            before = sample();
            (i == 0 ? use_decoy : step)();
            after = sample();
        }
    } while (after.hidden != before.hidden || after.looks != looks);
    return (struct sample){after.faults - before.faults, after.local - before.local, after.remote - before.remote, 0,
                           0};
}

/* Moves the thread to a CPU of another node than NOT, if there is one. Returns its node. */
static int go_to_other(int not )
{
    int on = 0;

    for (int i = 0; i < 64; i++) {
        cpu_set_t set;

        CPU_ZERO(&set);
        CPU_SET(i, &set);
        if (sched_setaffinity(0, sizeof(set), &set) != 0)
            continue;
        on = node_here();
        if (on != not )
            break;
    }
    return on;
}

/* Pages that a CPU of the first node has touched first, and that this CPU, on another node if there is one, uses. */
static void begin(void)
{
    go_to_other(-1);
    first_node = kettle_node(kettle_kernel());
    decoy = spread_memory_map(PAGES, PRIVATE);
    area = spread_memory_map(PAGES, PRIVATE);
    touch(area, PAGES);
    touch(decoy, PAGES);
    node = go_to_other(first_node);
    MUST(kettle_control("numasee=faults"));
    MUST(kettle_control("numa=first-touch"));
}

static void finish(void)
{
    CHECK(audit_own(), "at the end");
    MUST(kettle_control("numa=none"));
    MUST(kettle_control("numasee=accessed"));
    MUST(kettle_control("numaperiod=100"));
    munmap(area, PAGES * PAGE);
    munmap(decoy, PAGES * PAGE);
}

static void use(void)
{
    touch(area, PAGES);
}

static void use_twice(void)
{
    use();
    use();
}

static void check(const char *what, struct sample found, unsigned long local, unsigned long remote)
{
    unsigned long all = local + remote;

    if (node == first_node) {
        local = all;
        remote = 0;
    }
    CHECK(found.faults == all && found.local == local && found.remote == remote,
          "%s: %lu faults, %lu local, %lu remote; not %lu, %lu, %lu", what, found.faults, found.local, found.remote,
          all, local, remote);
}

static void test_once(void)
{
    long value;

    begin();
    value = *word_of(area, 7);
    check("used", measure(use, nothing, use), 0, PAGES);
    check("used twice", measure(use, nothing, use_twice), 0, PAGES);
    check("not used", measure(use, nothing, nothing), 0, 0);
    CHECK(*word_of(area, 7) - value >= 6 && *word_of(area, 7) == *word_of(area, PAGES - 1), "%ld", *word_of(area, 7));
    finish();
}

static void unmap_half(void)
{
    MUST(munmap(area, PAGES / 2 * PAGE));
    MUST(mmap(area, PAGES / 2 * PAGE, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0) == area ? 0 : -1);
}

static void test_unmapped(void)
{
    begin();
    check("half of it unmapped", measure(use, unmap_half, use), 0, PAGES / 2);
    CHECK(*word_of(area, 0) != *word_of(area, PAGES - 1), "an unmapped page has its content");
    finish();
}

static void protect(void)
{
    MUST(mprotect(area, PAGES * PAGE, PROT_READ));
    MUST(mprotect(area, PAGES * PAGE, READ_WRITE));
}

static void forbid(void)
{
    MUST(mprotect(area, PAGES * PAGE, PROT_NONE));
}

static void allow(void)
{
    for (long i = 0; i < PAGES; i++)
        CHECK(!memory_readable(area + i * PAGE), "page %ld can be read", i);
    MUST(mprotect(area, PAGES * PAGE, READ_WRITE));
    use();
}

static void use_read_only(void)
{
    use();
    MUST(mprotect(area, PAGES * PAGE, PROT_READ));
}

static void refuse(void)
{
    for (long i = 0; i < PAGES; i++)
        CHECK(memory_readable(area + i * PAGE) && !memory_writable(area + i * PAGE), "page %ld can be written", i);
    MUST(mprotect(area, PAGES * PAGE, READ_WRITE));
}

static void test_protected(void)
{
    begin();
    check("protected", measure(use, protect, use), 0, 0);
    check("forbidden", measure(use, forbid, allow), 0, 0);
    measure(use_read_only, nothing, refuse);
    finish();
}

static void move_here(void)
{
    unsigned long nodes = 1ul << node;

    CHECK(syscall(SYS_mbind, area, PAGES * PAGE, MPOL_BIND, &nodes, 65ul, MPOL_MF_MOVE) == 0, "%s", strerror(errno));
}

static void test_moved(void)
{
    begin();
    check("moved here", measure(use, move_here, use), PAGES, 0);
    finish();
}

/* The child has pages of its own, none of which is hidden; the parent's stay so, and are copied as they are shown. */
static void fork_and_use(void)
{
    pid_t child = fork();

    if (child == 0) {
        use();
        _exit(events_everywhere("hint_faults") == 0 ? 0 : 1);
    }
    MUST(child);
    CHECK_EXITS(child, 0);
}

static void test_forked(void)
{
    begin();
    check("after a fork", measure(use, fork_and_use, use), 0, PAGES);
    finish();
}

static char *large;

static void use_large(void)
{
    touch(large, HUGE_PAGES);
}

static void cut_large(void)
{
    MUST(munmap(large, PAGE));
    MUST(mmap(large, PAGE, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0) == large ? 0 : -1);
}

static bool has_large(void)
{
    return events_reported("/proc/self/kettle", " huge ") >= HUGE >> 10;
}

static void test_large(void)
{
    char *all;
    struct sample found;

    begin();
    all = spread_memory_map(2 * HUGE_PAGES, PRIVATE);
    large = all + (HUGE - (long)((uintptr_t)all % HUGE)) % HUGE;
    MUST(madvise(large, HUGE, MADV_HUGEPAGE));
    use_large();
    if (has_large()) {
        found = measure(use_large, nothing, use_large);
        CHECK(found.faults == 1 && found.local + found.remote == HUGE_PAGES, "%lu faults, %lu local, %lu remote",
              found.faults, found.local, found.remote);
        hide();
        CHECK(audit_own(), "with a hidden large page");
        found = measure(use_large, cut_large, use_large);
        CHECK(found.faults == 0, "%lu faults", found.faults);
        for (long i = 1; i < HUGE_PAGES; i++)
            CHECK(*word_of(large, i) == *word_of(large, 1) && *word_of(large, 0) == 1, "page %ld", i);
    } else {
        tap_skip("no large page");
    }
    munmap(all, 2 * HUGE);
    finish();
}

static void test_audited(void)
{
    begin();
    use();
    hide();
    CHECK(audit_own(), "with hidden pages");
    use();
    finish();
}

/* Also where both nodes are one kernel's, whose accessed bits do not say which of them used a page. */
static void test_follows(void)
{
    long value;

    begin();
    if (node == first_node)
        tap_skip("one node");
    value = *word_of(area, 0);
    MUST(kettle_control("numaperiod=5"));
    MUST(kettle_control("numa=nemo"));
    UNTIL((use(), value++, node_has(node, area, PAGES)) == PAGES, "the pages to come");
    for (long i = 0; i < PAGES; i++)
        CHECK(*word_of(area, i) == value, "page %ld: %ld", i, *word_of(area, i));
    finish();
}

/* A process's own way, and back to the other one. */
static void test_chosen(void)
{
    static const char *const wrong[] = {"nemo,", "nemo,eyes", "nemo,faults,faults", "", ",faults", "best,faults"};
    unsigned long hidden = events_everywhere("hints_set");

    for (size_t i = 0; i < TAP_COUNT(wrong); i++)
        CHECK_ERROR(kettle_numa(0, wrong[i]), EINVAL);
    CHECK(kettle_numa(0, "first-touch,faults") == 0, "%s", strerror(errno));
    UNTIL(events_everywhere("hints_set") > hidden, "hidden entries");
    CHECK(kettle_numa(0, "first-touch,accessed") == 0, "%s", strerror(errno));
    hide(); /* a look that was under way has ended */
    hidden = events_everywhere("hints_set");
    hide();
    CHECK(events_everywhere("hints_set") == hidden, "%lu entries hidden, then %lu", hidden,
          events_everywhere("hints_set"));
    CHECK(kettle_numa(0, "default") == 0, "%s", strerror(errno));
    MUST(kettle_control("numaperiod=100"));
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"once", "a hidden page faults once, and is counted for the node that uses it alone", test_once},
        {"unmapped", "what is unmapped while it is hidden is gone, and new pages are not hidden", test_unmapped},
        {"protected", "a change of protection shows pages, and forbids what it forbids", test_protected},
        {"moved", "pages that move while they are hidden are counted where they are", test_moved},
        {"forked", "a fork hides nothing of the child's, and the parent's pages stay hidden", test_forked},
        {"large", "a large page faults once for all its pages, and stays whole", test_large},
        {"follows", "memory comes to the node that uses it, also within a kernel", test_follows},
        {"audited", "an audit finds nothing wrong with hidden pages", test_audited},
        {"chosen", "a process chooses for itself, and a wrong choice is refused", test_chosen},
    };

    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
