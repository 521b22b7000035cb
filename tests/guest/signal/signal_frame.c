/* test-signals: the frame of a handler. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/signal/signal.h"
#include "tests/guest/tasks/registers_random.h"
#include "userland/x86.h"

#define PAGE 4096
#define ALTERNATE_SIZE (32 * PAGE)
#define AUTODISARM (1u << 31)
#define ROUNDS 100
#define FLAG_ALIGNMENT 0x40000u
#define SET_GS 0x1001
#define COMPONENT_PKRU (1ul << 9)

static char *alternate;
static sigjmp_buf back;

static void alternate_set(unsigned flags)
{
    stack_t stack;

    if (alternate == NULL)
        alternate = mmap(NULL, ALTERNATE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack = (stack_t){.ss_sp = alternate, .ss_size = ALTERNATE_SIZE, .ss_flags = (int)flags};
    MUST(sigaltstack(&stack, NULL));
}

static bool on_alternate(const void *address)
{
    return (const char *)address >= alternate && (const char *)address < alternate + ALTERNATE_SIZE;
}

/* --- alternate stacks --- */

static bool was_on_alternate;
static int stack_flags;
static int nested_on_alternate;

static void handler_stack(int signal, siginfo_t *info, void *context)
{
    stack_t stack;
    char local;

    (void)info;
    (void)context;
    was_on_alternate = on_alternate(&local);
    MUST(sigaltstack(NULL, &stack));
    stack_flags = stack.ss_flags;
    if (signal == SIGUSR1) {
        place_go(place_here() + 1);
        /* It cannot be changed while it is in use. */
        if ((stack_flags & SS_ONSTACK) != 0)
            CHECK_ERROR(sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL), EPERM);
        raise(SIGUSR2);
        nested_on_alternate = was_on_alternate;
        was_on_alternate = on_alternate(&local);
    }
}

void signal_test_altstack(void)
{
    stack_t stack;

    MUST(sigaltstack(NULL, &stack));
    CHECK(stack.ss_flags == SS_DISABLE, "flags %#x at first", (unsigned)stack.ss_flags);
    alternate_set(0);
    signal_handle(SIGUSR1, handler_stack, SA_ONSTACK, NULL);
    signal_handle(SIGUSR2, handler_stack, SA_ONSTACK, NULL);
    signal_handle(SIGHUP, handler_stack, 0, NULL);
    for (int i = 0; i < place_few(8); i++) {
        place_go(i);
        MUST(raise(SIGUSR1));
        CHECK(was_on_alternate && nested_on_alternate == 1, "outer %d, nested %d", was_on_alternate,
              nested_on_alternate);
        CHECK(stack_flags == SS_ONSTACK, "flags %#x", (unsigned)stack_flags);
        MUST(raise(SIGHUP));
        CHECK(!was_on_alternate && stack_flags == 0, "without SA_ONSTACK: flags %#x", (unsigned)stack_flags);
        MUST(sigaltstack(NULL, &stack));
        CHECK(stack.ss_sp == alternate && stack.ss_size == ALTERNATE_SIZE && stack.ss_flags == 0,
              "afterwards flags %#x", (unsigned)stack.ss_flags);
    }
    MUST(sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL));
    MUST(raise(SIGUSR1));
    CHECK(!was_on_alternate, "a disabled stack is used");
}

static void handler_jumps(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    was_on_alternate = on_alternate((void *)x86_stack_pointer());
    siglongjmp(back, 1);
}

static volatile int unbounded = 1;

__attribute__((noinline)) static int stack_use(int turn)
{
    volatile char space[1024];

    space[0] = (char)turn;
    return unbounded > 0 ? stack_use(turn + 1) + space[0] : 0;
}

void signal_test_altstack_overflow(void)
{
    signal_handle(SIGSEGV, handler_jumps, SA_ONSTACK, NULL);
    for (int i = 0; i < 3; i++) {
        alternate_set(0);
        place_go(i);
        was_on_alternate = false;
        if (sigsetjmp(back, 1) == 0)
            CHECK(stack_use(0) == -1, "the stack has no end");
        CHECK(was_on_alternate, "the handler did not run");
    }
}

void signal_test_altstack_disarm(void)
{
    stack_t stack;

    alternate_set(AUTODISARM);
    signal_handle(SIGUSR1, handler_stack, SA_ONSTACK, NULL);
    signal_handle(SIGUSR2, handler_stack, SA_ONSTACK, NULL);
    for (int i = 0; i < place_few(4); i++) {
        place_go(i);
        MUST(raise(SIGUSR2));
        CHECK(was_on_alternate && stack_flags == SS_DISABLE, "flags %#x in the handler", (unsigned)stack_flags);
        MUST(sigaltstack(NULL, &stack));
        CHECK(stack.ss_sp == alternate && (unsigned)stack.ss_flags == AUTODISARM, "afterwards flags %#x",
              (unsigned)stack.ss_flags);
    }
}

void signal_test_altstack_errors(void)
{
    stack_t stack = {.ss_sp = (void *)0x10000, .ss_size = 1024};

    CHECK_ERROR(sigaltstack(&stack, NULL), ENOMEM);
    stack.ss_size = ALTERNATE_SIZE;
    stack.ss_flags = 0x40;
    CHECK_ERROR(sigaltstack(&stack, NULL), EINVAL);
    CHECK_ERROR(syscall(SYS_sigaltstack, TAP_UNMAPPED, NULL), EFAULT);
    CHECK_ERROR(syscall(SYS_sigaltstack, NULL, TAP_UNMAPPED), EFAULT);
    MUST(sigaltstack(NULL, &stack));
    CHECK(stack.ss_flags == SS_DISABLE, "a refused stack is set: flags %#x", (unsigned)stack.ss_flags);
}

static void *thread_stack(void *argument)
{
    stack_t stack;

    (void)argument;
    MUST(sigaltstack(NULL, &stack));
    CHECK(stack.ss_flags == SS_DISABLE, "a new thread has flags %#x", (unsigned)stack.ss_flags);
    place_go(1);
    MUST(raise(SIGUSR2));
    CHECK(!was_on_alternate, "another thread's stack is used");
    return NULL;
}

void signal_test_altstack_thread(void)
{
    pthread_t thread;
    stack_t stack;
    pid_t child;

    alternate_set(0);
    signal_handle(SIGUSR2, handler_stack, SA_ONSTACK, NULL);
    REQUIRE(pthread_create(&thread, NULL, thread_stack, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
    /* A process made by fork has it. */
    child = FORK();
    if (child == 0) {
        MUST(sigaltstack(NULL, &stack));
        CHECK(stack.ss_sp == alternate && stack.ss_flags == 0, "flags %#x", (unsigned)stack.ss_flags);
        MUST(raise(SIGUSR2));
        CHECK(was_on_alternate, "not used");
        _exit(0);
    }
    CHECK_EXITS(child, 0);
}

/* --- leaving --- */

void signal_test_longjmp(void)
{
    sigset_t mask;

    signal_handle(SIGUSR1, handler_jumps, 0, NULL);
    for (volatile int i = 0; i < 5 * place_few(8); i++) {
        volatile int local = i * 7;

        place_go(i);
        if (sigsetjmp(back, 1) == 0) {
            raise(SIGUSR1);
            CHECK(false, "raise returns");
        }
        CHECK(local == i * 7, "%d", local);
        MUST(sigprocmask(SIG_BLOCK, NULL, &mask));
        CHECK(sigismember(&mask, SIGUSR1) == 0, "still masked");
    }
}

static int nested;

static void handler_migrates(int signal, siginfo_t *info, void *context)
{
    int here = place_here();
    volatile char local[3000];

    (void)signal;
    (void)info;
    (void)context;
    memset((char *)local, here + nested, sizeof(local));
    place_go(here + 1);
    if (++nested < 6) {
        raise(SIGUSR1);
        place_go(here + 2);
    }
    nested--;
    for (size_t i = 0; i < sizeof(local); i++) {
        if (!CHECK(local[i] == local[0], "the stack has changed"))
            break;
    }
    atomic_fetch_add(&signal_count, 1);
}

void signal_test_migrate(void)
{
    signal_handle(SIGUSR1, handler_migrates, SA_NODEFER, NULL);
    for (int i = 0; i < place_few(8); i++) {
        place_go(i);
        MUST(raise(SIGUSR1));
        CHECK(atomic_load(&signal_count) == 6 * (i + 1), "%d", atomic_load(&signal_count));
        CHECK(place_count() == 1 || place_here() == (i + 2) % place_count(), "at place %d", place_here());
    }
}

/* --- registers --- */

static uint64_t gs_word;
static uint64_t components;
static struct registers before;
static struct registers after;
static alignas(64) uint8_t cleared[PAGE];
static bool handler_moves;

/* What a program and the process that sends it signals share. */
static struct sending {
    atomic_int handled;
    atomic_bool stop;
} * sending;

/* Leaves nothing of what was in the registers. */
static void handler_clobbers(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    x86_extended_clear(components & ~COMPONENT_PKRU, cleared);
    if (handler_moves)
        place_go(place_here() + 1);
    atomic_fetch_add(&signal_count, 1);
    if (sending != NULL)
        atomic_fetch_add(&sending->handled, 1);
}

static void registers_begin(void)
{
    uint32_t sse_control = 0x1f80;

    gs_word = 0x1122334455667788;
    MUST(syscall(SYS_arch_prctl, SET_GS, &gs_word));
    components = registers_find();
    memcpy(cleared + 24, &sse_control, sizeof(sse_control));
    signal_handle(SIGUSR1, handler_clobbers, 0, NULL);
}

static void registers_round(uint64_t *random, uint64_t wait)
{
    char text[80];

    registers_fill(&before, random);
    /* A handler in C cannot run with the check of alignment on. */
    before.flags &= ~(uint64_t)FLAG_ALIGNMENT;
    before.rax = SYS_tgkill;
    before.rdi = (uint64_t)getpid();
    before.rsi = (uint64_t)syscall(SYS_gettid);
    before.rdx = SIGUSR1;
    memset(&after, 0xdb, sizeof(after));
    registers_hold(&before, &after, components, wait);
    CHECK(!registers_differ(&before, &after, wait != 0, gs_word, text, sizeof(text)), "%s", text);
    CHECK(wait != 0 || after.rax == 0, "tgkill returns %ld", (long)after.rax);
}

void signal_test_registers_call(void)
{
    uint64_t random = 11;

    registers_begin();
    for (int i = 0; i < ROUNDS; i++) {
        handler_moves = i % 2 == 1;
        place_go(i / 4);
        registers_round(&random, 0);
        CHECK(atomic_load(&signal_count) == i + 1, "%d signals in %d rounds", atomic_load(&signal_count), i + 1);
    }
}

/* One signal at a time, and between them the program gets time to run: one that is interrupted again as soon as its
 * handler returns gets nowhere. How much time differs by powers of two: some come very soon. */
static void send_signals(pid_t target)
{
    for (unsigned turn = 0; !atomic_load(&sending->stop); turn++) {
        int before = atomic_load(&sending->handled);

        MUST(kill(target, SIGUSR1));
        while (atomic_load(&sending->handled) == before && !atomic_load(&sending->stop))
            sched_yield();
        for (int i = 0; i < 1 << turn % 10; i++)
            x86_pause();
    }
}

void signal_test_registers_code(void)
{
    uint64_t random = 12;
    pid_t target = getpid();
    pid_t child;

    registers_begin();
    sending = tap_share(sizeof(*sending));
    child = FORK();
    if (child == 0) {
        place_go(1);
        send_signals(target);
        _exit(0);
    }
    handler_moves = true;
    tap_await("signals that interrupt program code");
    for (int i = 0; i < ROUNDS / 2 || atomic_load(&signal_count) < 50; i++)
        registers_round(&random, 20000);
    atomic_store(&sending->stop, true);
    CHECK_EXITS(child, 0);
}

static void handler_mask(int signal, siginfo_t *info, void *context)
{
    sigset_t mask;

    (void)info;
    (void)signal;
    MUST(sigprocmask(SIG_BLOCK, NULL, &mask));
    CHECK(sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGHUP) == 1 && sigismember(&mask, SIGINT) == 1 &&
              sigismember(&mask, SIGTERM) == 0,
          "the mask in the handler");
    CHECK(sigismember(&((ucontext_t *)context)->uc_sigmask, SIGHUP) == 1 &&
              sigismember(&((ucontext_t *)context)->uc_sigmask, SIGINT) == 0,
          "the mask in the context");
    /* What is set here holds until the handler returns; what the context says holds then. */
    mask = signal_set(SIGTERM);
    MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
    sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGQUIT);
}

void signal_test_mask_restored(void)
{
    sigset_t mask = signal_set(SIGHUP);
    sigset_t during = signal_set(SIGINT);

    for (int i = 0; i < place_few(4); i++) {
        place_go(i);
        mask = signal_set(SIGHUP);
        MUST(sigprocmask(SIG_SETMASK, &mask, NULL));
        signal_handle(SIGUSR1, handler_mask, 0, &during);
        MUST(raise(SIGUSR1));
        MUST(sigprocmask(SIG_BLOCK, NULL, &mask));
        CHECK(sigismember(&mask, SIGHUP) == 1 && sigismember(&mask, SIGQUIT) == 1, "HUP or QUIT is not masked");
        CHECK(sigismember(&mask, SIGUSR1) == 0 && sigismember(&mask, SIGINT) == 0 && sigismember(&mask, SIGTERM) == 0,
              "USR1, INT or TERM is masked");
    }
}
