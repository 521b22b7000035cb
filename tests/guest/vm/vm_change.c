/* One page changed in turn, and used by all. tests/guest/vm/vm_race.h is the contract.
 *
 * The steps and the states between them are known beforehand. Steps are made one after the other, each by another
 * thread: it counts BEGUN, makes the call, counts DONE. An access that finds DONE at L before it and BEGUN at H after
 * it took place in one of the states L to H. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/vm/vm_access.h"
#include "tests/guest/vm/vm_crew.h"
#include "tests/guest/vm/vm_operation.h"
#include "tests/guest/vm/vm_race.h"
#include "userland/x86.h"

#define STEPS 24
#define LEFT 3 /* the page of the changes among its neighbours */
#define NEIGHBOURS 7
#define AWAY 16 /* where mremap moves it meanwhile */

enum step_kind { PROTECT, UNMAP, MAP, DISCARD, STORE, MOVE, BACK, FORK, KINDS };

struct step {
    enum step_kind kind;
    unsigned prot;
    bool shared;
};

struct state {
    bool mapped, shared, away;
    unsigned prot;
    uint64_t value; /* of word 0, which only steps write */
    int life;       /* counts how often the page has become zero */
};

static struct step steps[STEPS];
static struct state states[STEPS + 1];
static atomic_int begun, done;
static atomic_ulong additions;

static char *page_at(int number)
{
    return VM_RACE_ARENA + (unsigned long)(64 + number) * VM_PAGE;
}

static uint64_t *word_at(int number)
{
    return (uint64_t *)page_at(LEFT) + number;
}

static const char *const kind_names[KINDS] = {"mprotect", "munmap",      "mmap",        "madvise",
                                              "store",    "mremap away", "mremap back", "fork"};

/* --- the plan --- */

static enum step_kind kind_choose(const struct state *now, uint64_t random)
{
    static const enum step_kind mapped[] = {PROTECT, PROTECT, PROTECT, PROTECT, UNMAP, MAP,  DISCARD,
                                            STORE,   STORE,   STORE,   PROTECT, STORE, MOVE, FORK};

    if (now->away)
        return BACK;
    if (!now->mapped)
        return random % 4 == 0 ? PROTECT : random % 8 == 1 ? DISCARD : MAP;
    return mapped[random % (sizeof(mapped) / sizeof(mapped[0]))];
}

static struct state follow(struct state now, const struct step *step, int number)
{
    switch (step->kind) {
    case PROTECT:
        if (now.mapped)
            now.prot = step->prot;
        break;
    case UNMAP:
        now.mapped = false;
        now.life++;
        break;
    case MAP:
        now = (struct state){.mapped = true, .shared = step->shared, .prot = step->prot, .life = now.life + 1};
        break;
    case DISCARD:
        if (now.mapped && !now.shared) {
            now.value = 0;
            now.life++;
        }
        break;
    case STORE:
        now.value = (uint64_t)number + 1000;
        break;
    case MOVE:
    case BACK:
        now.mapped = step->kind == BACK;
        now.away = step->kind == MOVE;
        break;
    default:
        break;
    }
    return now;
}

static void plan(uint64_t random)
{
    static const unsigned prots[] = {PROT_READ, PROT_READ, PROT_NONE, VM_PROT_RW, VM_PROT_RW, PROT_READ | PROT_EXEC};

    states[0] = (struct state){.mapped = true, .prot = VM_PROT_RW};
    for (int i = 0; i < STEPS; i++) {
        steps[i].kind = kind_choose(&states[i], tap_random(&random));
        steps[i].prot = prots[tap_random(&random) % 6];
        steps[i].shared = tap_random(&random) % 3 == 0;
        if ((steps[i].kind == STORE && (states[i].prot & PROT_WRITE) == 0) ||
            (steps[i].kind == MOVE && !vm_has(VM_MREMAP)))
            steps[i] = (struct step){.kind = PROTECT, .prot = VM_PROT_RW};
        states[i + 1] = follow(states[i], &steps[i], i);
    }
}

/* --- a step --- */

static long step_fork(const struct state *now)
{
    long child = x86_syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
    struct vm_outcome got;
    int status = -1;

    if (child == 0) {
        vm_me.depth++;
        got = vm_access(VM_READ, word_at(0), 0);
        if (got.signal != (now->prot == 0 ? SIGSEGV : 0) || got.value != (now->prot == 0 ? 0 : now->value))
            vm_fail("a child of step %d: signal %d, value %lu, not %lu", atomic_load(&begun) - 1, got.signal,
                    (unsigned long)got.value, (unsigned long)now->value);
        for (;;)
            x86_syscall1(SYS_exit_group, 0);
    }
    if (child < 0)
        return child;
    while (x86_syscall(SYS_wait4, child, (long)&status, 0, 0, 0, 0) == -EINTR)
        ;
    return status;
}

static long step_make(int number)
{
    const struct step *step = &steps[number];
    char *page = page_at(LEFT), *away = page_at(AWAY);
    int flags = MREMAP_MAYMOVE | MREMAP_FIXED;

    switch (step->kind) {
    case PROTECT:
        return x86_syscall3(SYS_mprotect, (long)page, VM_PAGE, step->prot);
    case UNMAP:
        return x86_syscall3(SYS_munmap, (long)page, VM_PAGE, 0);
    case MAP:
        return vm_mmap(page, VM_PAGE, step->prot, MAP_FIXED | (step->shared ? MAP_SHARED : MAP_PRIVATE)) - (long)page;
    case DISCARD:
        return x86_syscall3(SYS_madvise, (long)page, VM_PAGE, MADV_DONTNEED);
    case STORE:
        return vm_access(VM_WRITE, word_at(0), states[number + 1].value).signal;
    case MOVE:
        return x86_syscall(SYS_mremap, (long)page, VM_PAGE, VM_PAGE, flags, (long)away, 0) - (long)away;
    case BACK:
        return x86_syscall(SYS_mremap, (long)away, VM_PAGE, VM_PAGE, flags, (long)page, 0) - (long)page;
    default:
        return step_fork(&states[number]);
    }
}

static void step(int number)
{
    bool refused = !states[number].mapped && (steps[number].kind == PROTECT || steps[number].kind == DISCARD);
    long result;

    atomic_store(&begun, number + 1);
    result = step_make(number);
    if (result != (refused ? -ENOMEM : 0))
        vm_fail("step %d, %s, fails with %ld, not %d", number, kind_names[steps[number].kind], result,
                refused ? -ENOMEM : 0);
    atomic_store(&done, number + 1);
}

/* --- those who look on --- */

static bool state_allows(const struct state *state, bool write, const struct vm_outcome *got)
{
    bool may = state->mapped && (write ? (state->prot & PROT_WRITE) != 0 : state->prot != 0);

    if (got->signal == 0)
        return may;
    return !may && got->signal == SIGSEGV && got->code == (state->mapped ? SEGV_ACCERR : SEGV_MAPERR);
}

static _Noreturn void fail_look(bool write, const struct vm_outcome *got, int low, int high)
{
    char text[600] = "";
    int length = 0;

    for (int i = low; i <= high && length < (int)sizeof(text) - 1; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "%s%s: %smapped, prot %u, word %lu",
                           i == low ? "" : "; ", i == 0 ? "start" : kind_names[steps[i - 1].kind],
                           states[i].mapped ? "" : "not ", states[i].prot, (unsigned long)states[i].value);
    vm_fail("%s of the changed page: signal %d code %d value %lu between steps %d and %d, which leave it so: %s",
            write ? "write" : "read", got->signal, got->code, (unsigned long)got->value, low, high, text);
}

/* One access, which some state between must allow: word 0 is read, or the thread's own written. Returns whether it
 * went through. */
static bool look(bool write, int word, uint64_t value, struct vm_outcome *got, int *low, int *high)
{
    *low = atomic_load(&done);
    *got = vm_access(write ? VM_WRITE : VM_READ, word_at(word), value);
    *high = atomic_load(&begun);
    for (int i = *low; i <= *high; i++) {
        if (state_allows(&states[i], write, got) && (word != 0 || got->signal != 0 || got->value == states[i].value))
            return got->signal == 0;
    }
    fail_look(write, got, *low, *high);
}

static void use(int index, uint64_t value)
{
    struct vm_outcome got;
    int low, high, low_after, high_after;

    atomic_fetch_add((atomic_ulong *)page_at(LEFT - 1), 1);
    atomic_fetch_add((atomic_ulong *)page_at(LEFT + 1), 1);
    atomic_fetch_add(&additions, 1);
    look(false, 0, 0, &got, &low, &high);
    if (!look(true, 1 + index, value, &got, &low, &high) || !look(false, 1 + index, 0, &got, &low_after, &high_after))
        return;
    if (got.value != value && (got.value != 0 || states[low].life == states[high_after].life))
        vm_fail("the word that thread %d wrote between steps %d and %d is %#lx until step %d, not %#lx", index, low,
                high, (unsigned long)got.value, high_after, (unsigned long)value);
}

static void job_changes(int index)
{
    uint64_t value = (uint64_t)index << 32;

    crew_meet();
    for (;;) {
        int number = atomic_load(&done);

        if (number == STEPS || vm_failed())
            return;
        if ((number * 5 + number / 3) % vm_run.threads == index)
            step(number);
        use(index, ++value);
        x86_syscall0(SYS_sched_yield);
    }
}

static void changes_round(int unused)
{
    long result = vm_mmap(page_at(0), NEIGHBOURS * VM_PAGE, VM_PROT_RW, MAP_PRIVATE | MAP_FIXED);

    if (result != (long)page_at(0))
        vm_fail("mmap returns %ld", result);
    (void)unused;
    atomic_store(&begun, 0);
    atomic_store(&done, 0);
    atomic_store(&additions, 0);
    x86_syscall3(SYS_munmap, (long)page_at(AWAY), VM_PAGE, 0);
    if (!crew_run(job_changes, 0))
        return;
    for (int side = -1; side <= 1; side += 2) {
        uint64_t sum = atomic_load((atomic_ulong *)page_at(LEFT + side));

        if (sum != atomic_load(&additions))
            vm_fail("a neighbour was counted to %lu, not to %lu", (unsigned long)sum, atomic_load(&additions));
    }
}

bool race_changes(uint64_t random)
{
    plan(random);
    return vm_try(changes_round, 0);
}
