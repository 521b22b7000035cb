/* Accesses that may fault. tests/guest/vm/vm_access.h is the contract. */
#include "tests/guest/vm/vm_access.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "userland/x86.h"

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (!vm_me.guarded)
        vm_fail("signal %d, code %d, address %p, where the test touches nothing of the arena", signal, info->si_code,
                info->si_addr);
    vm_me.outcome.signal = signal;
    vm_me.outcome.code = info->si_code;
    vm_me.outcome.address = info->si_addr;
    siglongjmp(vm_me.access, 1);
}

bool vm_access_init(void)
{
    /* The handler leaves by a jump that restores no mask, so the signal must not be blocked. */
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_NODEFER};

    action.sa_sigaction = handler;
    return sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0;
}

static void execute(const uint64_t *word)
{
    void (*code)(void);

    memcpy(&code, &word, sizeof(code));
    code();
}

/* FUTEX_WAIT with no time to wait runs out of it when the word is VALUE, and says at once when it is not. */
static void kernel_read(const uint64_t *word, uint64_t value)
{
    static const struct timespec no_time = {0, 0};
    long result = x86_syscall(SYS_futex, (long)word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, (long)(uint32_t)value,
                              (long)&no_time, 0, 0);

    vm_me.outcome.error = result == -ETIMEDOUT ? 0 : result;
}

/* The old signal mask goes where it is told to. */
static void kernel_write(uint64_t *word, uint64_t value)
{
    uint64_t none = 0;
    long first = x86_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&value, 0, sizeof(value), 0, 0);
    long second = x86_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, (long)word, sizeof(none), 0, 0);

    if (second != 0) /* whether a refused call has set the mask is no matter of this test */
        x86_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, sizeof(none), 0, 0);
    vm_me.outcome.error = first != 0 ? first : second;
}

struct vm_outcome vm_access(enum vm_way way, uint64_t *word, uint64_t value)
{
    vm_me.outcome = (struct vm_outcome){0};
    vm_me.guarded = true;
    if (sigsetjmp(vm_me.access, 0) == 0) {
        switch (way) {
        case VM_READ:
            vm_me.outcome.value = *(volatile uint64_t *)word;
            break;
        case VM_WRITE:
            *(volatile uint64_t *)word = value;
            break;
        case VM_EXECUTE:
            execute(word);
            break;
        case VM_KERNEL_READ:
            kernel_read(word, value);
            break;
        case VM_KERNEL_WRITE:
            kernel_write(word, value);
            break;
        }
    }
    vm_me.guarded = false;
    return vm_me.outcome;
}
