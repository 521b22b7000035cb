/* Findings, and what was done to each page before. tests/guest/vm/vm.h is the contract. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/vm/vm.h"
#include "userland/x86.h"

#define FINDING_SIZE 1200
#define TEXT_SIZE 6000
#define DEEDS 16 /* kept of each page */

struct deed {
    const char *what;
    uint64_t detail;
    long result;
    uint32_t serial;
    uint16_t batch, first, count;
    uint8_t thread, place, depth;
};

struct past {
    uint32_t total;
    struct deed deeds[DEEDS];
};

/* How often something was done. */
struct tally {
    _Atomic(const char *) what;
    atomic_int done, refused;
};

#define TALLIES 128

struct report {
    struct tally tallies[TALLIES];
    atomic_int failed;
    atomic_int complete;
    char text[TEXT_SIZE];
};

struct vm_run vm_run;
_Thread_local struct vm_actor vm_me;
static struct report *report;
static struct past pasts[VM_PAGES_ALL]; /* each written by the owner of its page */

bool vm_report_init(void)
{
    report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return report != MAP_FAILED;
}

bool vm_failed(void)
{
    return atomic_load_explicit(&report->failed, memory_order_relaxed) != 0;
}

const char *vm_finding(void)
{
    return atomic_load(&report->complete) != 0 ? report->text : "";
}

bool vm_try(void (*action)(int argument), int argument)
{
    vm_me.guarded = false;
    vm_me.trying = true;
    if (!vm_failed() && sigsetjmp(vm_me.escape, 0) == 0)
        action(argument);
    vm_me.trying = false;
    return !vm_failed();
}

void vm_go(int place)
{
    struct place_call call = place_call(place);
    long result = x86_syscall3(call.number, call.arguments[0], call.arguments[1], call.arguments[2]);

    if (result != 0)
        vm_fail("moving to place %d returns %ld", place % place_count(), result);
    vm_me.place = place % place_count();
}

/* WHAT's place, the first time a new one. Constants of one text may have two. */
static struct tally *tally_of(const char *what)
{
    for (int i = 0; i < TALLIES; i++) {
        const char *expected = NULL;

        if (atomic_load_explicit(&report->tallies[i].what, memory_order_relaxed) == what ||
            atomic_compare_exchange_strong(&report->tallies[i].what, &expected, what) || expected == what)
            return &report->tallies[i];
    }
    vm_fail("more than %d kinds of operations", TALLIES);
}

int vm_tally(char *text, int room)
{
    int length = 0;

    for (int i = 0; i < TALLIES && atomic_load(&report->tallies[i].what) != NULL && length < room - 1; i++) {
        const struct tally *tally = &report->tallies[i];
        int refused = atomic_load(&tally->refused);

        length += snprintf(text + length, (size_t)(room - length), refused > 0 ? "%s: %d, refused: %d\n" : "%s: %d\n",
                           atomic_load(&tally->what), atomic_load(&tally->done), refused);
    }
    return length;
}

static void tally(const char *what, long result)
{
    struct tally *tally = tally_of(what);

    atomic_fetch_add(&tally->done, 1);
    if (result < 0)
        atomic_fetch_add(&tally->refused, 1);
}

void vm_history(int first, int count, const char *what, uint64_t detail, long result)
{
    struct deed deed = {.what = what,
                        .detail = detail,
                        .result = result,
                        .serial = vm_me.serial++,
                        .batch = (uint16_t)atomic_load_explicit(&vm_run.batch, memory_order_relaxed),
                        .first = (uint16_t)first,
                        .count = (uint16_t)count,
                        .thread = (uint8_t)vm_me.index,
                        .place = (uint8_t)vm_me.place,
                        .depth = (uint8_t)vm_me.depth};

    tally(what, result);
    for (int page = first; page < first + count && page < VM_PAGES_ALL; page++) {
        struct past *past = &pasts[page];

        past->deeds[past->total++ % DEEDS] = deed;
    }
}

__attribute__((format(printf, 2, 3))) static int append(int length, const char *format, ...)
{
    va_list arguments;

    if (length >= TEXT_SIZE - 1)
        return length;
    va_start(arguments, format);
    length += vsnprintf(report->text + length, (size_t)(TEXT_SIZE - length), format, arguments);
    va_end(arguments);
    return length;
}

static int append_past(int length, int page)
{
    const struct past *past = &pasts[page];
    uint32_t kept = past->total < DEEDS ? past->total : DEEDS;

    length = append(length, "the last %u of %u operations on page %d:", kept, past->total, page);
    for (uint32_t i = past->total - kept; i != past->total; i++) {
        const struct deed *deed = &past->deeds[i % DEEDS];

        length = append(length, "\n  batch %u thread %u%s place %u step %u: %s of %u pages from %u, %#lx: %ld",
                        deed->batch, deed->thread, deed->depth == 0 ? "" : " (forked)", deed->place, deed->serial,
                        deed->what, deed->count, deed->first, (unsigned long)deed->detail, deed->result);
    }
    return length;
}

static _Noreturn void fail(int page, const char *text)
{
    if (atomic_exchange(&report->failed, 1) == 0) {
        int length = append(0, "seed %lu, batch %d, thread %d%s at place %d: ", (unsigned long)vm_run.seed,
                            atomic_load(&vm_run.batch), vm_me.index, vm_me.depth == 0 ? "" : " (forked)", vm_me.place);

        if (page < 0)
            append(length, "%s", text);
        else
            append_past(append(length, "page %d: %s\n", page, text), page);
        atomic_store(&report->complete, 1);
    }
    if (vm_me.depth == 0 && vm_me.trying)
        siglongjmp(vm_me.escape, 1);
    if (vm_me.depth == 0)
        x86_syscall3(SYS_write, 1, (long)report->text, (long)strlen(report->text));
    for (;;)
        x86_syscall1(SYS_exit_group, 1);
}

_Noreturn void vm_fail(const char *format, ...)
{
    va_list arguments;
    char text[FINDING_SIZE];

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fail(-1, text);
}

_Noreturn void vm_fail_page(int page, const char *format, ...)
{
    va_list arguments;
    char text[FINDING_SIZE];

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fail(page, text);
}
