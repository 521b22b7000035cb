/* A signal frame that cannot be written or read raises SIGSEGV, which may have a handler with its own stack. */
#include "abi.h"

static sigjmp_buf back;
static char stack[65536];
static volatile int caught;

static void handler(int number)
{
    (void)number;
    say("never here\n");
}
static void segv(int number, siginfo_t *info, void *context)
{
    (void)context;
    caught++;
    printf("%s code %d in the handler\n", signal_name(number), info->si_code);
    siglongjmp(back, 1);
}
static void bad_stack(void)
{
    __asm__ volatile("mov $62, %%eax\n\t" /* kill(pid, SIGUSR1) */
                     "mov %0, %%edi\n\t"
                     "mov $10, %%esi\n\t"
                     "mov $4096, %%rsp\n\t"
                     "syscall\n\t"
                     "hlt"
                     :
                     : "r"((int)getpid())
                     : "rax", "rdi", "rsi", "rcx", "r11", "memory");
}
static void bad_return(void)
{
    __asm__ volatile("mov $4096, %%rsp\n\t"
                     "mov $15, %%eax\n\t" /* rt_sigreturn */
                     "syscall\n\t"
                     "hlt"
                     :
                     :
                     : "rax", "rcx", "r11", "memory");
}
static int no_handler(void)
{
    on_signal(SIGSEGV, SIG_DFL, 0);
    bad_stack();
    return 0;
}
static int ignored(void)
{
    on_signal(SIGSEGV, SIG_IGN, 0);
    bad_stack();
    return 0;
}
static int blocked(void)
{
    sigset_t set = set_of(SIGSEGV);

    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    bad_stack();
    return 0;
}
static int handler_fails_too(void)
{
    on_info(SIGSEGV, segv, 0);
    bad_stack();
    return 0;
}
static int return_ignored(void)
{
    on_signal(SIGSEGV, SIG_IGN, 0);
    bad_return();
    return 0;
}
int main(void)
{
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};

    MUST(sigaltstack(&alternate, NULL));
    on_signal(SIGUSR1, handler, 0);
    on_info(SIGSEGV, segv, SA_ONSTACK);
    for (int i = 0; i < 2; i++) {
        if (sigsetjmp(back, 1) == 0)
            bad_stack();
        if (sigsetjmp(back, 1) == 0)
            bad_return();
    }
    SHOW(caught);
    reap(spawn(no_handler));
    reap(spawn(ignored));
    reap(spawn(blocked));
    reap(spawn(handler_fails_too));
    reap(spawn(return_ignored));
    return 0;
}
