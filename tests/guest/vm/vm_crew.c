/* The threads of the test. tests/guest/vm/vm_crew.h is the contract. */
#include "tests/guest/vm/vm_crew.h"

#include <limits.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/vm/vm.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define MEET_SPINS 300

static struct {
    struct thread threads[VM_THREADS_MAX];
    void (*job)(int index); /* NULL: end */
    unsigned long reborn;
    atomic_int turn;    /* counts jobs */
    atomic_int done;    /* threads that have ended theirs */
    atomic_int arrived; /* at the meeting */
    atomic_int meeting; /* counts meetings */
} crew;

/* Sleeps until *WORD is not OLD. */
static void crew_sleep(atomic_int *word, int old)
{
    while (atomic_load(word) == old)
        x86_syscall(SYS_futex, (long)word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, old, 0, 0, 0);
}

static void crew_wake(atomic_int *word)
{
    x86_syscall(SYS_futex, (long)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, 0, 0, 0);
}

static void work(struct thread *thread)
{
    int turn = (int)atomic_load(&thread->result);
    bool ends;

    vm_me.index = thread->index;
    vm_try(vm_go, thread->index + turn * 3);
    do {
        crew_sleep(&crew.turn, turn);
        turn++;
        ends = crew.job == NULL || (crew.reborn & 1ul << thread->index) != 0;
        if (crew.job != NULL)
            vm_try(crew.job, thread->index);
        atomic_store(&thread->result, turn);
        atomic_fetch_add(&crew.done, 1);
        crew_wake(&crew.done);
    } while (!ends);
}

bool racers_start(void)
{
    for (int i = 0; i < vm_run.threads; i++) {
        crew.threads[i].index = i;
        if (!thread_start(&crew.threads[i], work))
            return false;
    }
    return true;
}

static void run(void (*job)(int index), unsigned long reborn)
{
    int done;

    crew.job = job;
    crew.reborn = reborn;
    atomic_store(&crew.done, 0);
    atomic_store(&crew.arrived, 0);
    atomic_fetch_add(&crew.turn, 1);
    crew_wake(&crew.turn);
    while ((done = atomic_load(&crew.done)) < vm_run.threads)
        crew_sleep(&crew.done, done);
}

bool crew_run(void (*job)(int index), unsigned long reborn)
{
    run(job, reborn);
    for (int i = 0; i < vm_run.threads; i++) {
        if ((reborn & 1ul << i) != 0 && (!thread_ended(&crew.threads[i]) || !thread_again(&crew.threads[i], work)))
            return false;
    }
    return !vm_failed();
}

void racers_end(void)
{
    run(NULL, 0);
    for (int i = 0; i < vm_run.threads; i++)
        thread_join(&crew.threads[i]);
}

void crew_meet(void)
{
    static const struct timespec patience = {0, 200000000};
    int meeting = atomic_load(&crew.meeting);

    if (atomic_fetch_add(&crew.arrived, 1) + 1 == vm_run.threads) {
        atomic_store(&crew.arrived, 0);
        atomic_fetch_add(&crew.meeting, 1);
        crew_wake(&crew.meeting);
        return;
    }
    for (int i = 0; i < MEET_SPINS && atomic_load(&crew.meeting) == meeting; i++)
        x86_pause();
    /* Those who come late need the CPUs. One that never comes has found something. */
    while (atomic_load(&crew.meeting) == meeting && !vm_failed())
        x86_syscall(SYS_futex, (long)&crew.meeting, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, meeting, (long)&patience, 0, 0);
    if (vm_failed())
        siglongjmp(vm_me.escape, 1);
}
