/* test-one-frame: threads of all kernels, 8 at most, touch a page that nobody has touched at the same moment, page
 * after page: all see what each wrote, and the machine has one frame more for each page. The argument is the number of
 * pages.
 *
 * They meet by counting, and sleep when others are late, who may need the CPU. The main thread is one of them, at home.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGE 4096ul
#define CHUNK 250ul /* pages of a mapping */
#define MEMBERS 8
#define MEET_SPINS 300
#define FUTEX_WAIT_HERE 128 /* FUTEX_WAIT, of this process alone */
#define FUTEX_WAKE_HERE 129

/* A page: a word for each member, far enough apart to be lines of their own. */
struct page {
    struct {
        atomic_ulong value;
        char rest[64 - sizeof(unsigned long)];
    } word[PAGE / 64];
};
_Static_assert(sizeof(struct page) == PAGE, "a page");

static struct {
    int members;
    struct page *pages;
    unsigned long first; /* number of the first page of this mapping */
    unsigned long count; /* pages of it */
    bool over;
    atomic_int arrived;  /* at this meeting */
    atomic_int meetings; /* that are over */
    atomic_ulong wrong;  /* words that were not what their member wrote */
    atomic_long failed;  /* an errno of a member that could not come */
} crew;

static void meet(void)
{
    int meeting = atomic_load(&crew.meetings);

    if (atomic_fetch_add(&crew.arrived, 1) + 1 == crew.members) {
        atomic_store(&crew.arrived, 0);
        atomic_fetch_add(&crew.meetings, 1);
        x86_syscall(SYS_futex, (long)&crew.meetings, FUTEX_WAKE_HERE, INT_MAX, 0, 0, 0);
        return;
    }
    for (int i = 0; i < MEET_SPINS && atomic_load(&crew.meetings) == meeting; i++)
        x86_pause();
    while (atomic_load(&crew.meetings) == meeting)
        x86_syscall(SYS_futex, (long)&crew.meetings, FUTEX_WAIT_HERE, meeting, 0, 0, 0);
}

static unsigned long value_of(unsigned long page, int member)
{
    return page * MEMBERS + (unsigned long)member + 1;
}

static void check(unsigned long i)
{
    for (int k = 0; k < crew.members; k++) {
        if (atomic_load(&crew.pages[i].word[k].value) != value_of(crew.first + i, k))
            atomic_fetch_add(&crew.wrong, 1);
    }
}

/* All pages of a mapping. */
static void touch_all(int index)
{
    for (unsigned long i = 0; i < crew.count; i++) {
        unsigned long number = crew.first + i;
        struct page *page = &crew.pages[i];

        meet();
        if ((number + (unsigned long)index) % 3 == 0) { /* some read first */
            unsigned long seen = atomic_load(&page->word[(index + 1) % crew.members].value);

            if (seen != 0 && seen != value_of(number, (index + 1) % crew.members))
                atomic_fetch_add(&crew.wrong, 1);
        }
        atomic_store(&page->word[index].value, value_of(number, index));
        if (i > 0)
            check(i - 1); /* nobody is at that one any more */
    }
    meet();
    check(crew.count - 1);
}

static void member(struct thread *thread)
{
    long error = thread_move(thread->index);

    if (error != 0)
        atomic_store(&crew.failed, error);
    for (;;) {
        meet(); /* the main thread has said what comes */
        if (crew.over)
            return;
        touch_all(thread->index);
        meet();
    }
}

/* Pages that the process has on all kernels: each is held by one. Nothing of the C library is used, whose memory would
 * grow now and then. */
static unsigned long pages_held(void)
{
    static char text[16384];
    unsigned long sum = 0;
    size_t length = 0;
    ssize_t part;
    int fd = open("/proc/self/kettle", O_RDONLY);

    if (!CHECK(fd >= 0, "%s", strerror(errno)))
        return 0;
    while ((part = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
        length += (size_t)part;
    CHECK(part == 0 && length < sizeof(text) - 1, "%s",
          part < 0 ? strerror(errno) : "the text is longer than expected");
    close(fd);
    text[length] = '\0';
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        const char *end, *at;

        line += *line == '\n';
        end = strchr(line, '\n');
        at = strncmp(line, "kernel ", 7) == 0 ? strstr(line, " pages ") : NULL;
        if (at != NULL && end != NULL && at < end)
            sum += strtoul(at + 7, NULL, 10);
    }
    return sum;
}

/* COUNT new pages; returns how many frames more there are then. */
static unsigned long run(unsigned long first, unsigned long count)
{
    unsigned long before, after;
    void *memory = mmap(NULL, CHUNK * PAGE, PROT_READ | PROT_WRITE,
                        (first / CHUNK % 2 == 0 ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS, -1, 0);

    if (!CHECK(memory != MAP_FAILED, "%s", strerror(errno)))
        return 0;
    crew.pages = memory;
    crew.first = first;
    crew.count = count;
    before = pages_held();
    meet();
    touch_all(0);
    meet();
    after = pages_held();
    CHECK(munmap(memory, CHUNK * PAGE) == 0, "%s", strerror(errno));
    return after - before;
}

static unsigned long pages;

static void test_pages(void)
{
    struct thread threads[MEMBERS] = {{0}};

    crew.members = place_few(MEMBERS);
    for (int i = 1; i < crew.members; i++) {
        threads[i].index = i;
        if (!CHECK(thread_start(&threads[i], member), "%s", strerror(errno)))
            return; /* who was started waits for ever: the end of the process ends it */
    }
    run(CHUNK * (pages + 1), CHUNK); /* all that is needed besides comes to where it is needed */
    for (unsigned long first = 0; first < pages; first += CHUNK) {
        unsigned long count = pages - first < CHUNK ? pages - first : CHUNK;
        unsigned long made = run(first, count);

        if (!CHECK(made == count, "%lu frames for pages %lu to %lu", made, first, first + count - 1) ||
            !CHECK(atomic_load(&crew.wrong) == 0, "%lu words are wrong", atomic_load(&crew.wrong)))
            break;
    }
    CHECK(audit_own(), "at the end");
    crew.over = true;
    meet();
    for (int i = 1; i < crew.members; i++)
        CHECK(thread_join(&threads[i]), "thread %d does not end", i);
    CHECK(atomic_load(&crew.failed) == 0, "a thread could not move: %ld", atomic_load(&crew.failed));
    tap_note("%lu pages, touched by %d kernels at once", pages, crew.members);
}

static const struct tap_test tests[] = {
    {"pages", "a page that all kernels touch first at the same moment has one frame", test_pages},
};

int main(int argc, char **argv)
{
    static const struct tap_program program = {.tests = tests, .count = TAP_COUNT(tests), .parameters = "PAGES"};
    long count = 0;

    if (!tap_take_number(&argc, &argv, &count) || count <= 0 || place_count() < 2) {
        fprintf(stderr, "usage: test-one-frame PAGES [TEST...], on a machine of two kernels\n");
        return 2;
    }
    pages = (unsigned long)count;
    return tap_main(argc, argv, &program);
}
