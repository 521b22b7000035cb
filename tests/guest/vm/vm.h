/* What the files of test-vm share: the options of a run, the thread that acts, and how a finding is told.
 *
 * An *actor* is a thread of the test, or the one thread of a process that such a thread has forked. Actors are made by
 * clone (thread.h), so nothing here uses malloc, stdio or errno; system calls are x86_syscall's, whose errors are
 * negative numbers. */
#ifndef TESTS_GUEST_VM_H
#define TESTS_GUEST_VM_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VM_PAGE 4096ul
#define VM_PROT_RW 3u
#define VM_THREADS_MAX 64

/* Where the arena lies: far below where any kernel puts mappings that name no place. The racing rounds have their pages
 * behind it. */
#define VM_ARENA ((char *)0x200000000000)
#define VM_RACE_ARENA ((char *)0x200100000000)

/* Behind those the areas that grow: each region has 16 MiB for one. */
#define VM_GROW_ARENA ((char *)0x200200000000)
#define VM_GROW_PAGES 4096

/* Operations of futex(2). */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define FUTEX_PRIVATE_FLAG 128

/* Calls and behaviour that not every kernel has. Numbers of bits, in the order of the table in vm_feature.c. */
enum vm_feature {
    VM_NOREPLACE,
    VM_HINT,
    VM_POPULATE,
    VM_MREMAP,
    VM_OBJECT, /* shared memory keeps pages that nobody maps while others of it are mapped */
    VM_MINCORE,
    VM_MSYNC,
    VM_ADVISE_HINT, /* NORMAL and WILLNEED say what is not mapped */
    VM_ADVISE_FREE,
    VM_ADVISE_HUGE,
    VM_ADVISE_NOHUGE,
    VM_ADVISE_FORK, /* DONTFORK and DOFORK */
    VM_ADVISE_WIPE, /* WIPEONFORK and KEEPONFORK */
    VM_DONTUNMAP,
    VM_GROWS,
    VM_FEATURES
};

/* One run. Set by main before there are threads. */
struct vm_run {
    uint64_t seed;
    int threads;
    bool resident_exact; /* mincore of what nobody has touched says no: nothing makes large pages in this run */
    uint32_t features;
    atomic_int batch; /* counts batches and rounds, for the reports */
};
extern struct vm_run vm_run;

static inline bool vm_has(enum vm_feature feature)
{
    return (vm_run.features & 1u << feature) != 0;
}

/* What a guarded access came to. All zero: it went through. */
struct vm_outcome {
    int signal, code;             /* of the signal it raised */
    const volatile void *address; /* si_addr */
    long error;                   /* what the kernel said when it made the access */
    uint64_t value;               /* read */
};

struct vm_actor {
    int index;    /* of the thread */
    int depth;    /* 0: a thread of the test; else so many forks below one */
    int place;    /* where it went last */
    bool quiet;   /* shared pages belong to the parent: they are not written */
    bool guarded; /* an access is under way that may raise a signal */
    bool trying;  /* in vm_try: there is an ESCAPE */
    uint32_t serial;
    struct vm_outcome outcome;
    sigjmp_buf access; /* back from a signal */
    sigjmp_buf escape; /* out of the batch */
};
extern _Thread_local struct vm_actor vm_me;

/* Moves the calling actor to PLACE modulo the number of places. */
void vm_go(int place);

/* True when some actor has found something wrong: the others stop when they like. */
bool vm_failed(void);

/* The text of the first finding; empty when there is none. */
const char *vm_finding(void);

/* Memory for findings, which forked processes share. Once, by main. False: no memory. */
bool vm_report_init(void);

/* Does ACTION, unless something was found before, until it returns or vm_fail is called in it. True when there is no
 * finding then. */
bool vm_try(void (*action)(int argument), int argument);

/* Records a finding, if it is the first, and leaves the batch: a thread of the test by vm_try's return (what is in none
 * ends the program), a forked
 * process by its end. */
_Noreturn void vm_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and the last operations on page PAGE of the whole arena. */
_Noreturn void vm_fail_page(int page, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define VM_PAGES_ALL (33 * 128) /* pages of the arena and the heap */

/* Notes that the calling actor has done WHAT, a constant, with pages FIRST to FIRST + COUNT - 1 of the whole arena.
 * DETAIL is what the operation likes to say besides. */
void vm_history(int first, int count, const char *what, uint64_t detail, long result);

/* All that vm_history was told of in this run, by actors in forked processes too: what, how often, and how often with a
 * negative result. Lines for a report; returns the length. */
int vm_tally(char *text, int room);

/* Finds out what the kernel has, and says what it has not. Returns the features; MISSING (room for ROOM bytes) gets
 * their names. */
uint32_t vm_features(char *missing, int room);

#endif
