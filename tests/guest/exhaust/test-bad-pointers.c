/* test-bad-pointers: every system call with bad addresses in place of its pointers, from the home kernel and from
 * another one. "errors" runs on Linux, too, which it compares Kettle with; the sweep draws the other arguments from a
 * fixed seed. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"
#include "tests/guest/exhaust/bad_errors.h"
#include "tests/guest/exhaust/bad_pointers.h"
#include "tests/guest/exhaust/call_arguments.h"
#include "tests/guest/exhaust/call_types.h"
#include "tests/guest/exhaust/hog.h"
#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define SEED 1
#define DRAWS 2  /* of the other arguments, for each bad pointer */
#define BATCH 96 /* cases for one process, whose descriptors and limits the calls change */
#define POINTERS_MAX 600
#define LIFE_NS 1000000000l /* of a process that makes no call: one has spoilt it. It is no error */

static struct pointer {
    long number;
    const char *types;
    int argument;
} pointers[POINTERS_MAX];
static int pointer_count;

static struct board {  /* what a process tells root, as far as its calls have not written here */
    atomic_long begun; /* the case, + 1 */
    atomic_long returned;
    atomic_long broken; /* + 1: after this case bytes have changed */
} * board;

static void add_pointers(long number)
{
    const char *types = call_types(number);

    for (int i = 0; types != NULL && types[i] != 0; i++) {
        if (strchr("Ppv", types[i]) == NULL)
            continue;
        REQUIRE(pointer_count < POINTERS_MAX, "more pointers than there is room for");
        pointers[pointer_count++] = (struct pointer){number, types, i};
    }
}

static void find_pointers(void)
{
    pointer_count = 0;
    for (long i = 0; i <= call_types_last(); i++)
        add_pointers(i);
    for (long i = 0; i < KETTLE_CALL_COUNT && tap_on_kettle(); i++)
        add_pointers(KETTLE_CALL_BASE + i);
}

static void test_types(void)
{
    for (long i = 0; i <= call_types_last(); i++) {
        const char *types = call_types(i);

        CHECK(types == NULL || strcmp(types, "xxxxxx") != 0, "%s has no types", call_name(i));
    }
}

static long cases(void)
{
    return (long)pointer_count * BAD_COUNT * DRAWS;
}

static struct pointer *pointer_of(long number)
{
    return &pointers[number / (BAD_COUNT * DRAWS)];
}

static enum bad_pointer bad_of(long number)
{
    return (enum bad_pointer)(number / DRAWS % BAD_COUNT);
}

static void make_call(long number)
{
    const struct pointer *pointer = pointer_of(number);
    struct call_arguments drawn = {.random = SEED ^ (uint64_t)number * 0x9e3779b97f4a7c15ull};
    long a[6] = {0}, self = x86_syscall0(SYS_gettid);

    call_arguments_prepare(&drawn);
    for (int i = 0; pointer->types[i] != 0; i++)
        a[i] = (long)call_argument(&drawn, pointer->types[i]);
    a[pointer->argument] = (long)bad_pointer(bad_of(number));
    x86_syscall(pointer->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    while (x86_syscall0(SYS_gettid) != self) /* a thread or child that the call has made */
        x86_syscall1(SYS_exit, 0);
}

/* Cases FROM to the end of their batch, at PLACE. */
static void process(long from, int place)
{
    setsid();
    hog_become_user();
    call_arguments_begin();
    place_go(place);
    for (long i = from; i < cases() && (i == from || i % BATCH != 0); i++) {
        atomic_store(&board->begun, i + 1);
        make_call(i);
        atomic_fetch_add(&board->returned, 1);
        if (!bad_pointers_hold() && board->broken == 0)
            board->broken = i + 1;
    }
    _exit(0);
}

/* Waits until CHILD has ended, and kills it when a call has put it to sleep, has stopped it, or has spoilt it so that
 * it makes none. */
static void attend(pid_t child)
{
    int64_t since = tap_time();
    long last = board->begun;
    int status, same = 0;

    while (waitpid(child, &status, WNOHANG | WUNTRACED) == 0) {
        long now = board->begun;

        same = now == last && tap_sleeps(child, child) ? same + 1 : 0;
        if (now != last)
            since = tap_time();
        last = now;
        if (same > 2 || tap_time() - since > LIFE_NS)
            break;
        usleep(1000);
    }
    REQUIRE(hog_end_user(false), "case %ld: a killed process does not end", last - 1);
}

static void say_broken(long number, int place)
{
    const struct pointer *pointer = pointer_of(number);
    const char *name = call_name(pointer->number);

    CHECK(false, "case %ld at place %d: call %ld (%s), argument %d, %s: bytes changed", number, place, pointer->number,
          name != NULL ? name : "Kettle's", pointer->argument, bad_pointer_name(bad_of(number)));
}

/* All cases at PLACE; returns how many processes ended early. */
static long sweep(int place)
{
    long next = 0, early = 0, batches = 0;

    while (next < cases()) {
        long end = (next / BATCH + 1) * BATCH < cases() ? (next / BATCH + 1) * BATCH : cases();
        long begun;
        pid_t child;

        board->begun = next + 1;
        board->broken = 0;
        child = FORK();
        if (child == 0)
            process(next, place);
        attend(child);
        begun = board->begun;
        if (begun <= next || begun > end) /* it has written there */
            begun = next + 1;
        early += begun < end;
        if (board->broken > 0 && board->broken <= cases())
            say_broken(board->broken - 1, place);
        else if (!bad_pointers_hold()) /* by what a call has begun */
            say_broken(begun - 1, place);
        bad_pointers_fill();
        next = begun;
        if (batches++ % 16 == 0)
            REQUIRE(hog_root_works(), "case %ld: root's work fails: %s, %s", next, hog_refused, tap_error(errno));
    }
    return early;
}

static void test_sweep(void)
{
    int places = place_few(2);

    board = tap_share(sizeof(*board));
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1)); /* hog_end_user waits for orphans */
    call_arguments_directory();
    bad_pointers_map();
    find_pointers();
    for (int i = 0; i < places; i++) {
        long early;

        board->returned = 0;
        early = sweep(i);
        tap_note("place %d: %d pointers, %ld cases, %ld returned, %ld processes ended early", i, pointer_count, cases(),
                 (long)board->returned, early);
        CHECK(board->returned > cases() / 2, "only %ld calls have returned", (long)board->returned);
    }
    CHECK(hog_root_works(), "%s: %s", hog_refused, tap_error(errno));
}

static void test_errors(void)
{
    bad_pointers_map();
    for (int i = 0; i < place_few(2); i++) {
        pid_t child = FORK();

        if (child == 0) {
            bad_errors_begin();
            place_go(i);
            bad_errors_check();
            _exit(0);
        }
        CHECK_EXITS(child, 0);
    }
}

static const struct tap_test tests[] = {
    {"types", "the types of every call's arguments are listed", test_types},
    {"errors", "a call whose pointer is bad fails with EFAULT and writes nowhere", test_errors},
    {"sweep", "the machine lives on, and nothing changes that no call may write, whichever pointer is bad", test_sweep},
};

int main(int argc, char **argv)
{
    return tap_main(argc, argv, &(struct tap_program){.tests = tests, .count = TAP_COUNT(tests), .apart = true});
}
