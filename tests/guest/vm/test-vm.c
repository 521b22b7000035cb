/* test-vm: random operations on an address space that many threads have, on all places, compared with a model.
 *
 * An arena of regions, and the break's heap as one region more, are dealt out to the threads for a *batch*: each makes
 * random calls and accesses on its regions while the others do so on theirs, which touch them. Then the regions go to
 * other threads, which are elsewhere. What happens in a region depends on the seed alone, so a run repeats as far as
 * what is done; when, does not. Between batches there are *rounds* in which all threads are after the same pages.
 *
 * It runs on Linux unchanged; there it proves the model right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/vm/vm_access.h"
#include "tests/guest/vm/vm_crew.h"
#include "tests/guest/vm/vm_operation.h"
#include "tests/guest/vm/vm_race.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define OPERATIONS 6        /* on each region in a batch */
#define BATCHES_PER_ROUND 3 /* when their number is given */
#define THREADS_DEFAULT 8
#define NOTE_SIZE 400

static struct vm_region regions[VM_REGIONS];
static char missing[NOTE_SIZE];
static long seconds = 10;
static int batches = -1; /* as many as there is time for */
static int pages = -1;   /* of the race for frames; as many as there is time for */
static bool want_all;
static long began, ends; /* of the running test */

/* A number that depends on the seed and what it is for. */
static uint64_t derive(int batch, int purpose)
{
    uint64_t state = vm_run.seed * 1000003 + (uint64_t)batch * 4099 + (uint64_t)purpose;

    return tap_random(&state);
}

/* --- batches --- */

/* Thread INDEX's regions are every so many, so neighbours belong to different threads; the next batch they go one on.
 */
static void job_batch(int index)
{
    int batch = atomic_load(&vm_run.batch);
    int first = (index + batch) % vm_run.threads;

    for (int r = first; r < VM_REGIONS; r += vm_run.threads) {
        regions[r].random = derive(batch, r);
        if (batch == 0 && r != VM_HEAP)
            vm_furnish(&regions[r]);
        if (vm_chance(&regions[r], 4) == 0)
            vm_sweep(&regions[r]);
    }
    for (int i = 0; i < OPERATIONS; i++) {
        for (int r = first; r < VM_REGIONS && !vm_failed(); r += vm_run.threads)
            vm_operate(&regions[r]);
    }
}

static void job_sweep(int index)
{
    for (int r = index; r < VM_REGIONS; r += vm_run.threads)
        vm_sweep(&regions[r]);
}

/* A fork while nobody acts: the child finds all regions as they are. */
static void quiet_fork(int batch)
{
    for (int r = 0; r < VM_REGIONS; r += 8) {
        regions[r].random = derive(batch, 1000 + r);
        vm_operation_fork(&regions[r]);
    }
}

static void note_lines(char *text)
{
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        tap_note("%s", line);
}

/* Says what was done and what was found, at the end of a test. */
static void conclude(int done, const char *what)
{
    char copy[8000];

    tap_note("%d %s, %ld ms", done, what, (thread_time() - began) / 1000000);

    snprintf(copy, sizeof(copy), "%s", vm_finding());
    note_lines(copy);
    CHECK(!vm_failed(), "see above; the same with seed=%lu", (unsigned long)vm_run.seed);
}

/* What comes after a finding would stand on sand. */
static bool skipped(void)
{
    if (vm_failed())
        tap_skip("something was found before");
    return vm_failed();
}

/* LIMIT: that many, whatever the time; below 0: as many as there is time for. */
static bool is_over(int done, int limit)
{
    return limit >= 0 ? done >= limit : thread_time() > ends;
}

static void begin(int share)
{
    began = thread_time();
    ends = began + seconds * 1000000000 * share / 100;
}

static void test_batches(void)
{
    char counts[8000] = "";
    int batch = 0;

    begin(60);
    while (!is_over(batch, batches)) {
        atomic_store(&vm_run.batch, batch);
        if (!crew_run(job_batch, derive(batch, 2000) & derive(batch, 2001)))
            break;
        if (!CHECK(audit_own(), "batch %d", batch))
            return;
        if (batch % 4 == 3)
            vm_try(quiet_fork, batch);
        batch++;
    }
    if (!vm_failed())
        crew_run(job_sweep, 0);
    vm_tally(counts, sizeof(counts));
    note_lines(counts);
    conclude(batch, "batches");
}

/* --- rounds --- */

/* Makes ROUND until the SHARE of the time is over, in percent. */
static void rounds(const char *name, bool (*round)(int number), int share)
{
    int limit = batches >= 0 ? (batches + BATCHES_PER_ROUND - 1) / BATCHES_PER_ROUND : -1;
    int done = 0;

    if (skipped())
        return;
    begin(share);
    while (!is_over(done, limit)) {
        atomic_store(&vm_run.batch, done);
        if (!round(done) || !CHECK(audit_own(), "round %d", done))
            break;
        done++;
    }
    conclude(done, name);
}

static bool round_frames(int number)
{
    return race_frames(pages >= 0 && batches < 0 ? pages : 96, derive(number, 3000));
}

static bool round_copies(int number)
{
    return race_copies(derive(number, 3001));
}

static bool round_changes(int number)
{
    return race_changes(derive(number, 3002));
}

static bool round_places(int number)
{
    (void)number;
    return race_places();
}

static bool round_order(int number)
{
    (void)number;
    return race_order();
}

static void test_frames(void)
{
    if (pages >= 0 && !skipped()) {
        begin(0);
        race_frames(pages, derive(0, 3000));
        conclude(pages, "pages");
        return;
    }
    rounds("rounds of frames", round_frames, 8);
}

static void test_copies(void)
{
    rounds("rounds of copies", round_copies, 8);
}

static void test_changes(void)
{
    rounds("rounds of changes", round_changes, 12);
}

static void test_places(void)
{
    rounds("rounds of places", round_places, 6);
}

static void test_order(void)
{
    rounds("rounds of forks", round_order, 6);
}

static void test_features(void)
{
    if (missing[0] == '\0')
        return;
    tap_note("this kernel lacks: %s", missing);
    CHECK(!want_all, "all was asked for");
}

static const struct tap_test tests[] = {
    {"features", "the kernel has the calls under test, or the missing ones are named above", test_features},
    {"batches", "every call, access and fault has the result that the model predicts", test_batches},
    {"frames", "threads that touch a page first at the same moment get one frame", test_frames},
    {"copies", "threads that write to a forked page at the same moment get one copy", test_copies},
    {"changes", "a change of a page is seen by all threads when the call returns, and no other page changes",
     test_changes},
    {"places", "mmap gives each address to one thread only", test_places},
    {"order", "a forked child that sees a write sees what was written before it", test_order},
};

/* --- the start --- */

static int usage(int status)
{
    fputs("usage: test-vm [seed=N] [seconds=S] [threads=N] [batches=N] [pages=N] [all] [TEST...]\n\n"
          "Random operations on memory, by threads on all kernels, compared with a model; writes TAP.\n"
          "  seed=N     what is done; 1\n"
          "  seconds=S  how long; 10\n"
          "  threads=N  up to 64; 8, or as many as there are kernels\n"
          "  batches=N  that many batches, and a third of it of each kind of round, however long they take\n"
          "  pages=N    that many pages in the race for frames\n"
          "  all        calls that the kernel lacks are failures\n",
          status == 0 ? stdout : stderr);
    return status;
}

static bool number_after(const char *argument, const char *name, long most, long *value)
{
    size_t length = strlen(name);
    char *end;
    long number;

    if (strncmp(argument, name, length) != 0)
        return false;
    number = strtol(argument + length, &end, 0);
    if (*end != '\0' || end == argument + length || number < 0 || number > most)
        exit(usage(2));
    *value = number;
    return true;
}

/* Takes what is no name of a test out of the arguments. */
static void arguments_read(int *argc, char **argv)
{
    int kept = 1;

    for (int i = 1; i < *argc; i++) {
        long value;

        if (number_after(argv[i], "seed=", 0x7fffffffffff, &value))
            vm_run.seed = (uint64_t)value;
        else if (number_after(argv[i], "seconds=", 1000000, &value))
            seconds = value;
        else if (number_after(argv[i], "threads=", VM_THREADS_MAX, &value))
            vm_run.threads = (int)value;
        else if (number_after(argv[i], "batches=", 1000000000, &value))
            batches = (int)value;
        else if (number_after(argv[i], "pages=", 1000000000, &value))
            pages = (int)value;
        else if (strcmp(argv[i], "all") == 0)
            want_all = true;
        else if (strcmp(argv[i], "--help") == 0)
            exit(usage(0));
        else
            argv[kept++] = argv[i];
    }
    *argc = kept;
}

/* The heap begins at the next page behind the break that the C library has left. */
static bool regions_init(void)
{
    long now = (x86_syscall1(SYS_brk, 0) + (long)VM_PAGE - 1) & ~((long)VM_PAGE - 1);

    if (x86_syscall1(SYS_brk, now) != now)
        return false;
    for (int r = 0; r < VM_REGIONS; r++)
        vm_model_init(&regions[r], r,
                      r == VM_HEAP ? (char *)now : VM_ARENA + (unsigned long)r * VM_REGION_PAGES * VM_PAGE);
    return true;
}

int main(int argc, char **argv)
{
    int status;

    vm_run.seed = 1;
    vm_run.threads = place_count() > THREADS_DEFAULT ? place_few(VM_THREADS_MAX) : THREADS_DEFAULT;
    arguments_read(&argc, argv);
    if (vm_run.threads < 1)
        return usage(2);
    if (!vm_access_init() || !vm_report_init()) {
        perror("test-vm");
        return 1;
    }
    vm_me.index = VM_THREADS_MAX; /* the main thread's number in reports */
    vm_run.features = vm_features(missing, sizeof(missing));
    vm_run.resident_exact = vm_run.seed % 2 == 1;
    tap_note("seed %lu, %d threads on %d places", (unsigned long)vm_run.seed, vm_run.threads, place_count());
    if (!racers_start() || !regions_init()) {
        perror("test-vm: threads");
        return 1;
    }
    status = tap_run(argc, argv, tests, TAP_COUNT(tests));
    racers_end();
    return status;
}
