/* A signal's frame where it cannot be, and a return to where nothing is, raise SIGSEGV, which may have a handler. */
#include "abi.h"

static sigjmp_buf back;
static char stack[65536];
static char *bad;

static void handler(int number)
{
    (void)number;
    say("handled\n");
}
static void segv(int number, siginfo_t *info, void *context)
{
    (void)context;
    printf("%s code %d\n", signal_name(number), info->si_code);
    siglongjmp(back, 1);
}
/* SIGUSR1 arrives at the return of kill, with the stack pointer at AT. */
static void signal_at(uintptr_t at)
{
    __asm__ volatile("mov $62, %%eax\n\t"
                     "mov %0, %%edi\n\t"
                     "mov $10, %%esi\n\t"
                     "mov %1, %%rsp\n\t"
                     "syscall\n\t"
                     "hlt"
                     :
                     : "r"((int)getpid()), "r"(at)
                     : "rax", "rdi", "rsi", "rcx", "r11", "memory");
}
static void at(const char *what, uintptr_t place)
{
    printf("%s: ", what);
    fflush(stdout);
    if (sigsetjmp(back, 1) == 0)
        signal_at(place);
}
/* What a handler makes of the context that it returns to. */
static void (*change)(ucontext_t *);
static void changes(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    change(context);
}
static void no_access(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)bad;
}
static void of_kernel(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)0xffffffff81000000UL;
}
static void no_state(ucontext_t *context)
{
    context->uc_mcontext.fpregs = (void *)8;
}
static void odd_state(ucontext_t *context)
{
    context->uc_mcontext.fpregs = (void *)((uintptr_t)context->uc_mcontext.fpregs | 1UL << 63);
}
static void unmapped_state(ucontext_t *context)
{
    context->uc_mcontext.fpregs = (void *)bad;
}
static void returns(const char *what, void (*how)(ucontext_t *))
{
    printf("%s: ", what);
    fflush(stdout);
    change = how;
    on_info(SIGUSR2, changes, 0);
    if (sigsetjmp(back, 1) == 0) {
        raise(SIGUSR2);
        printf("goes on\n");
    }
}
/* An alternate stack of which only a part is mapped. */
static void small(void)
{
    char *memory = MAP(16 * PAGE, MAP_PRIVATE);
    stack_t alternate = {.ss_sp = memory, .ss_size = 8 * PAGE};

    MUST(mprotect(memory, 8 * PAGE, PROT_READ));
    on_signal(SIGUSR1, handler, SA_ONSTACK);
    on_info(SIGSEGV, segv, 0);
    MUST(sigaltstack(&alternate, NULL));
    printf("alternate stack that may only be read: ");
    fflush(stdout);
    if (sigsetjmp(back, 1) == 0)
        raise(SIGUSR1);
    MUST(mprotect(memory, 8 * PAGE, PROT_READ | PROT_WRITE));
    printf("and now: ");
    fflush(stdout);
    raise(SIGUSR1);
    MUST(munmap(memory + 7 * PAGE, PAGE));
    printf("without its end: ");
    fflush(stdout);
    if (sigsetjmp(back, 1) == 0)
        raise(SIGUSR1);
}
static int not_caught(void)
{
    on_signal(SIGSEGV, SIG_DFL, 0);
    change = no_access;
    on_info(SIGUSR2, changes, 0);
    raise(SIGUSR2);
    return 0;
}
static int no_stack_for_either(void)
{
    on_info(SIGSEGV, segv, 0);
    signal_at((uintptr_t)bad);
    return 0;
}
int main(void)
{
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    char *memory = MAP(32 * PAGE, MAP_PRIVATE);

    bad = MAP(PAGE, MAP_PRIVATE);
    MUST(munmap(bad, PAGE));
    MUST(sigaltstack(&alternate, NULL));
    on_signal(SIGUSR1, handler, 0);
    on_info(SIGSEGV, segv, SA_ONSTACK);
    MUST(mprotect(memory, 16 * PAGE, PROT_NONE));
    at("no access", (uintptr_t)memory + 16 * PAGE);
    MUST(mprotect(memory, 16 * PAGE, PROT_READ));
    at("read only", (uintptr_t)memory + 16 * PAGE);
    at("unmapped", (uintptr_t)bad);
    at("beyond all addresses", 0x900000000000UL);
    at("of the kernel", 0xffffffff80000000UL);
    at("at the end of addresses", 0x7ffffffff000UL);
    at("at zero", 0);
    returns("a return to nothing", no_access);
    returns("a return into the kernel", of_kernel);
    returns("a state at a bad address", no_state);
    returns("a state at an impossible address", odd_state);
    returns("a state that is unmapped", unmapped_state);
    small();
    reap(spawn(not_caught));
    reap(spawn(no_stack_for_either));
    return 0;
}
