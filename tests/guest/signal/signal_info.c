/* test-signals: what handlers are told. */
#include <fcntl.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/signal/signal.h"
#include "userland/x86.h"

#define PAGE 4096

static void expect_sender(int count, int signal, int code, pid_t sender)
{
    UNTIL(atomic_load(&signal_count) >= count, "a signal's handler");
    CHECK(atomic_load(&signal_count) == count, "handled %d times, sent %d", atomic_load(&signal_count), count);
    CHECK(signal_last.si_signo == signal && signal_last.si_code == code && signal_last.si_errno == 0,
          "signo %d code %d errno %d", signal_last.si_signo, signal_last.si_code, signal_last.si_errno);
    CHECK(signal_last.si_pid == sender && signal_last.si_uid == getuid(), "pid %d (sender %d) uid %d",
          signal_last.si_pid, (int)sender, (int)signal_last.si_uid);
}

void signal_test_info_kill(void)
{
    pid_t target = getpid();
    int count = 0;

    signal_handle(SIGUSR1, signal_counts, 0, NULL);
    for (int i = 0; i < place_few(8); i++) {
        pid_t child;

        place_go(i);
        /* To oneself it is there before kill returns. */
        MUST(kill(target, SIGUSR1));
        CHECK(atomic_load(&signal_count) == count + 1, "kill of oneself returns first");
        expect_sender(++count, SIGUSR1, SI_USER, target);
        child = FORK();
        if (child == 0) {
            place_go(i + 1);
            MUST(kill(target, SIGUSR1));
            _exit(0);
        }
        expect_sender(++count, SIGUSR1, SI_USER, child);
        CHECK_EXITS(child, 0);
    }
}

void signal_test_info_queue(void)
{
    pid_t target = getpid();
    int count = 0;

    signal_handle(SIGUSR1, signal_counts, 0, NULL);
    signal_handle(SIGRTMAX, signal_counts, 0, NULL);
    for (int i = 0; i < place_few(8); i++) {
        union sigval value = {.sival_ptr = (void *)(0x123456789abc0000 + (uintptr_t)i)};
        int signal = i % 2 == 0 ? SIGRTMAX : SIGUSR1;
        pid_t child;

        place_go(i + 1);
        child = FORK();
        if (child == 0) {
            place_go(i);
            MUST(sigqueue(target, signal, value));
            _exit(0);
        }
        expect_sender(++count, signal, SI_QUEUE, child);
        CHECK(signal_last.si_value.sival_ptr == value.sival_ptr, "value %p", signal_last.si_value.sival_ptr);
        CHECK_EXITS(child, 0);
    }
    /* Nobody may say that the kernel or kill sent it, to another process. */
    {
        pid_t child = FORK();
        siginfo_t info = {.si_code = SI_USER, .si_signo = SIGUSR1};

        if (child == 0) {
            CHECK_ERROR(syscall(SYS_rt_sigqueueinfo, target, SIGUSR1, &info), EPERM);
            info.si_code = SI_KERNEL;
            CHECK_ERROR(syscall(SYS_rt_sigqueueinfo, target, SIGUSR1, &info), EPERM);
            info.si_code = SI_TKILL;
            CHECK_ERROR(syscall(SYS_rt_sigqueueinfo, target, SIGUSR1, &info), EPERM);
            CHECK_ERROR(syscall(SYS_rt_sigqueueinfo, target, SIGUSR1, TAP_UNMAPPED), EFAULT);
            _exit(0);
        }
        CHECK_EXITS(child, 0);
    }
    CHECK(atomic_load(&signal_count) == count, "a refused signal is handled");
}

void signal_test_info_thread(void)
{
    pid_t target = getpid();
    int count = 0;
    siginfo_t info;

    signal_handle(SIGUSR1, signal_counts, 0, NULL);
    for (int i = 0; i < place_few(4); i++) {
        pid_t child;

        place_go(i);
        MUST(syscall(SYS_tgkill, target, target, SIGUSR1));
        expect_sender(++count, SIGUSR1, SI_TKILL, target);
        MUST(syscall(SYS_tkill, target, SIGUSR1));
        expect_sender(++count, SIGUSR1, SI_TKILL, target);
        child = FORK();
        if (child == 0) {
            place_go(i + 1);
            MUST(syscall(SYS_tgkill, target, target, SIGUSR1));
            _exit(0);
        }
        expect_sender(++count, SIGUSR1, SI_TKILL, child);
        CHECK_EXITS(child, 0);
    }
    memset(&info, 0, sizeof(info));
    info.si_code = SI_QUEUE;
    info.si_pid = 77;
    info.si_value.sival_int = 5;
    MUST(syscall(SYS_rt_tgsigqueueinfo, target, target, SIGUSR1, &info));
    CHECK(atomic_load(&signal_count) == count + 1 && signal_last.si_pid == 77 && signal_last.si_value.sival_int == 5,
          "pid %d value %d", signal_last.si_pid, signal_last.si_value.sival_int);
}

void signal_test_info_child(void)
{
    signal_handle(SIGCHLD, signal_counts, 0, NULL);
    for (int i = 0; i < 2 * place_few(4); i++) {
        bool killed = i % 2 == 1;
        pid_t child;
        sigset_t mask = signal_set(SIGCHLD);

        /* The wait below must not be what SIGCHLD interrupts. */
        place_go(i / 2);
        atomic_store(&signal_count, 0);
        MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
        child = FORK();
        if (child == 0) {
            place_go(i / 2 + 1);
            if (killed)
                kill(getpid(), SIGTERM);
            _exit(55);
        }
        MUST(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT));
        MUST(sigprocmask(SIG_UNBLOCK, &mask, NULL));
        expect_sender(1, SIGCHLD, killed ? CLD_KILLED : CLD_EXITED, child);
        CHECK(signal_last.si_status == (killed ? SIGTERM : 55), "status %d", signal_last.si_status);
        if (killed)
            CHECK_DIES(child, SIGTERM);
        else
            CHECK_EXITS(child, 55);
    }
}

/* --- faults --- */

static sigjmp_buf back;
static siginfo_t fault;
static uintptr_t fault_at;

static void handler_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    fault = *info;
    fault_at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    siglongjmp(back, 1);
}

#define FAULT(statement)                                                                                               \
    do {                                                                                                               \
        memset(&fault, 0, sizeof(fault));                                                                              \
        if (sigsetjmp(back, 1) == 0) {                                                                                 \
            statement;                                                                                                 \
            CHECK(false, "no fault");                                                                                  \
        }                                                                                                              \
    } while (0)

void signal_test_fault_segv(void)
{
    char *page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *none = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MUST(munmap(page + PAGE, PAGE));
    signal_handle(SIGSEGV, handler_fault, 0, NULL);
    for (int i = 0; i < place_few(8); i++) {
        place_go(i);
        FAULT(((volatile char *)page)[17] = 1);
        CHECK(fault.si_code == SEGV_ACCERR && fault.si_addr == page + 17, "code %d address %p", fault.si_code,
              fault.si_addr);
        FAULT((void)((volatile char *)page)[PAGE + 3]);
        CHECK(fault.si_code == SEGV_MAPERR && fault.si_addr == page + PAGE + 3, "code %d address %p", fault.si_code,
              fault.si_addr);
        FAULT((void)((volatile char *)none)[5]);
        CHECK(fault.si_code == SEGV_ACCERR && fault.si_addr == none + 5, "code %d address %p", fault.si_code,
              fault.si_addr);
        FAULT(x86_null_write());
        CHECK(fault.si_code == SEGV_MAPERR && fault.si_addr == NULL, "code %d address %p", fault.si_code,
              fault.si_addr);
        /* What is no address, and instructions that are not a program's, are no page's fault. */
        FAULT(x86_halt());
        CHECK(fault.si_code == SI_KERNEL && fault.si_addr == NULL, "code %d address %p", fault.si_code, fault.si_addr);
        FAULT(((void (*)(void))(uintptr_t)page)());
        CHECK(fault.si_code == SEGV_ACCERR && fault.si_addr == page && fault_at == (uintptr_t)page,
              "code %d address %p at %#lx", fault.si_code, fault.si_addr, fault_at);
    }
}

void signal_test_fault_bus(void)
{
    int file = open(tap_self(), O_RDONLY);
    off_t size = lseek(file, 0, SEEK_END);
    off_t end = (size + PAGE - 1) / PAGE * PAGE;
    char *area = mmap(NULL, (size_t)end + PAGE, PROT_READ, MAP_PRIVATE, file, 0);

    REQUIRE(area != MAP_FAILED, "%s", tap_error(errno));
    signal_handle(SIGBUS, handler_fault, 0, NULL);
    for (int i = 0; i < place_few(4); i++) {
        place_go(i);
        FAULT((void)((volatile char *)area)[end + 9]);
        CHECK(fault.si_code == BUS_ADRERR && fault.si_addr == area + end + 9, "code %d address %p", fault.si_code,
              fault.si_addr);
    }
}

void signal_test_fault_others(void)
{
    signal_handle(SIGFPE, handler_fault, 0, NULL);
    signal_handle(SIGILL, handler_fault, 0, NULL);
    signal_handle(SIGTRAP, handler_fault, 0, NULL);
    for (int i = 0; i < place_few(8); i++) {
        place_go(i);
        FAULT(x86_divide_by_zero());
        CHECK(fault.si_signo == SIGFPE && fault.si_code == FPE_INTDIV && (uintptr_t)fault.si_addr == fault_at,
              "signal %d code %d address %p at %#lx", fault.si_signo, fault.si_code, fault.si_addr, fault_at);
        FAULT(x86_invalid_opcode());
        CHECK(fault.si_signo == SIGILL && fault.si_code == ILL_ILLOPN && (uintptr_t)fault.si_addr == fault_at,
              "signal %d code %d address %p at %#lx", fault.si_signo, fault.si_code, fault.si_addr, fault_at);
        FAULT(x86_breakpoint());
        CHECK(fault.si_signo == SIGTRAP && fault.si_code == SI_KERNEL, "signal %d code %d", fault.si_signo,
              fault.si_code);
        /* Behind the one-byte instruction. */
        CHECK(*(const uint8_t *)(fault_at - 1) == 0xcc, "at %#lx", fault_at);
    }
}

/* Steps over "ud2". */
static void handler_skips(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
    atomic_fetch_add(&signal_count, 1);
}

void signal_test_context(void)
{
    signal_handle(SIGILL, handler_skips, 0, NULL);
    for (int i = 0; i < place_few(8); i++) {
        place_go(i);
        x86_invalid_opcode();
        x86_invalid_opcode();
        CHECK(atomic_load(&signal_count) == 2 * i + 2, "%d", atomic_load(&signal_count));
    }
}

void signal_test_forced(void)
{
    for (int way = 0; way < 4; way++) {
        pid_t child = FORK();

        if (child == 0) {
            sigset_t mask = signal_set(SIGSEGV);

            place_go(way);
            if (way == 0)
                signal(SIGSEGV, SIG_IGN);
            if (way == 1)
                MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
            if (way >= 2) {
                /* A handler does not help one that is masked, nor one whose frame has no stack. */
                signal_handle(SIGSEGV, signal_counts, 0, NULL);
                if (way == 2)
                    MUST(sigprocmask(SIG_BLOCK, &mask, NULL));
                else
                    x86_lose_stack();
            }
            x86_null_write();
            _exit(1);
        }
        CHECK_DIES(child, SIGSEGV);
    }
}
