/* What the kernel does when it is entered by an exception or an interrupt. A program's mistake ends the program; the
 * kernel's own is a panic. */
#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/tlb.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/dev/serial.h"
#include "kernel/dev/virtio_9p.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/printf.h"
#include "kernel/machine/machine.h"
#include "mm/area/area.h"
#include "mm/fault/fault.h"
#include "mm/frame/frame.h"
#include "mm/space/survey.h"
#include "msg/channel.h"
#include "tasks/exit/exit.h"
#include "tasks/oom/oom.h"
#include "tasks/sched/sched.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"
#include "tasks/user/before_user.h"

static const char *const exception_names[32] = {
    [TRAP_DIVIDE] = "division error",
    [TRAP_DEBUG] = "debug trap",
    [TRAP_BREAKPOINT] = "breakpoint",
    [TRAP_OVERFLOW] = "overflow",
    [TRAP_BOUND] = "bound range",
    [TRAP_OPCODE] = "invalid opcode",
    [TRAP_DEVICE] = "no FPU",
    [TRAP_DOUBLE_FAULT] = "double fault (kernel stack overflow?)",
    [10] = "invalid TSS",
    [11] = "segment not present",
    [12] = "stack fault",
    [TRAP_PROTECTION] = "general protection",
    [TRAP_PAGE_FAULT] = "page fault",
    [TRAP_X87] = "x87 error",
    [TRAP_ALIGNMENT] = "alignment check",
    [TRAP_MACHINE_CHECK] = "machine check",
    [TRAP_SIMD] = "SIMD error",
};

static _Noreturn void panic_in_kernel(const struct trap_frame *frame)
{
    char text[256];
    const char *name = frame->vector < 32 ? exception_names[frame->vector] : NULL;

    snprintf(text, sizeof(text), "kernel: %s in the kernel (vector %lu, error %lx, address %lx, rip %lx, rsp %lx)",
             name != NULL ? name : "exception", (unsigned long)frame->vector, (unsigned long)frame->error,
             frame->vector == TRAP_PAGE_FAULT ? (unsigned long)read_cr2() : 0ul, (unsigned long)frame->rip,
             (unsigned long)frame->rsp);
    panic_at(frame->rbp, frame->rip, text);
}

/* The signal of an exception in a program, and its si_code. */
static struct signal_info signal_of(const struct trap_frame *frame)
{
    struct signal_info info = {.signal = SIGSEGV, .code = SI_KERNEL};

    switch (frame->vector) {
    case TRAP_DIVIDE:
        info.signal = SIGFPE;
        info.code = FPE_INTDIV;
        break;
    case TRAP_X87:
    case TRAP_SIMD:
        info.signal = SIGFPE;
        info.code = fpu_fault_code(frame->vector == TRAP_SIMD);
        break;
    case TRAP_DEBUG:
        info.signal = SIGTRAP;
        info.code = TRAP_TRACE;
        break;
    case TRAP_BREAKPOINT:
        info.signal = SIGTRAP;
        return info; /* as Linux: SI_KERNEL, and no address */
    case TRAP_OPCODE:
        info.signal = SIGILL;
        info.code = ILL_ILLOPN;
        break;
    case TRAP_ALIGNMENT:
        info.signal = SIGBUS;
        info.code = BUS_ADRALN;
        return info;
    default:
        return info;
    }
    info.value = frame->rip;
    return info;
}

static uint32_t access_of(uint64_t error)
{
    if ((error & PAGE_FAULT_FETCH) != 0)
        return AREA_EXEC;
    return (error & PAGE_FAULT_WRITE) != 0 ? AREA_WRITE : AREA_READ;
}

static bool in_user_copy(const struct trap_frame *frame)
{
    return frame->rip >= (uint64_t)user_copy_start && frame->rip < (uint64_t)user_copy_end;
}

/* As space_fault for THREAD's program; IN_CALL: one of its calls has touched ADDRESS. While no kernel has memory, it
 * waits until the largest program has ended. */
static int resolve_fault(const struct thread *thread, uint64_t address, uint32_t access, bool in_call)
{
    uint32_t tries = 0;
    int error;

    do {
        error = space_fault(group_space(thread->group), address, access);
    } while (__builtin_expect(error == -ENOMEM, 0) && oom_wait(&tries, in_call));
    return error;
}

/* THREAD's program may not touch ADDRESS, or cannot for want of memory. */
static __attribute__((noinline)) void fault_failed(const struct thread *thread, uint64_t address, int error)
{
    struct signal_info info = {.signal = SIGSEGV, .code = SEGV_MAPERR, .value = address};

    if (error == -ENOMEM) {
        if (!thread_dying(thread))
            log_line("mm: no kernel can give process %u (%s) a page, and it is killed", thread->group->id,
                     thread->context.name);
        exit_group_killed(EXIT_SIGNAL(SIGKILL));
    }
    if (error == -EHOSTDOWN) /* the process has lost a part with a kernel that has died: kernel/machine/death.md */
        exit_group_killed(EXIT_SIGNAL(SIGKILL));
    if (error == -EACCES && address < USER_END)
        info.code = SEGV_ACCERR;
    else if (error == -ENXIO) {
        info.signal = SIGBUS;
        info.code = BUS_ADRERR;
    } else if (error == -EHWPOISON) {
        info.signal = SIGBUS;
        info.code = BUS_MCEERR_AR;
    }
    signal_force(&info);
}

static inline void count_fault(struct thread *thread, int asked)
{
    if (asked == 0)
        thread->account.use.minor_faults++;
    else
        thread->account.use.major_faults++;
}

static void page_fault(struct trap_frame *frame)
{
    uint64_t address = read_cr2();
    struct thread *thread = thread_current();
    int error;

    if (!trap_from_user(frame)) {
        if (!in_user_copy(frame) || address >= USER_END)
            panic_in_kernel(frame);
        if (cpu_self()->copy_bound) {
            frame->rip = (uint64_t)user_copy_fault;
            return;
        }
        error = resolve_fault(thread, address, access_of(frame->error), true);
        if (error < 0)
            frame->rip = (uint64_t)user_copy_fault;
        else
            count_fault(thread, error);
        return;
    }
    error = resolve_fault(thread, address, access_of(frame->error), false);
    if (error < 0)
        fault_failed(thread, address, error);
    else
        count_fault(thread, error);
}

static void exception(struct trap_frame *frame)
{
    struct signal_info info;

    if (frame->vector == TRAP_PAGE_FAULT) {
        page_fault(frame);
        return;
    }
    if (!trap_from_user(frame) || frame->vector == TRAP_DOUBLE_FAULT || frame->vector == TRAP_MACHINE_CHECK) {
        if (frame->vector == TRAP_PROTECTION && in_user_copy(frame)) { /* a non-canonical address */
            frame->rip = (uint64_t)user_copy_fault;
            return;
        }
        panic_in_kernel(frame);
    }
    info = signal_of(frame);
    signal_force(&info);
}

static void interrupt(const struct trap_frame *frame)
{
    switch (frame->vector) {
    case VECTOR_TIMER:
        sched_timer_interrupt();
        break;
    case VECTOR_DOORBELL:
        cpu_self()->interrupts++;
        msg_doorbell_interrupt();
        break;
    case VECTOR_WAKE:
        sched_wake_interrupt();
        break;
    case VECTOR_FLUSH:
        tlb_interrupt();
        cpu_pause(); /* who flushes spins for the answer: as at the end of msg_doorbell_interrupt */
        break;
    case VECTOR_SERIAL:
        serial_interrupt();
        break;
    case VECTOR_VIRTIO:
        virtio_9p_interrupt();
        break;
    case VECTOR_SPURIOUS:
        return; /* has no end of interrupt */
    default:
        log_line("kernel: interrupt %lu, which nobody asked for", (unsigned long)frame->vector);
        break;
    }
    apic_end_of_interrupt();
}

void trap_dispatch(struct trap_frame *frame)
{
    if (frame->vector == TRAP_NMI) {
        machine_nmi(frame);
        if (!trap_from_user(frame) && frame->rip == (uint64_t)interrupts_wait_halt)
            frame->rip++; /* behind HLT */
        return;
    }
    if (trap_from_user(frame))
        cpu_leave_user();
    if (frame->vector < 32)
        exception(frame);
    else
        interrupt(frame);
    if (trap_from_user(frame))
        thread_before_user();
}
