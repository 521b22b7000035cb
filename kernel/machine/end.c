/* The end of the machine, and of a kernel by its own panic. See the header.
 *
 * One kernel ends the machine: the first that changes the word `ending` of the boot page. An NMI then halts all other
 * CPUs, and each marks its start slot when it stands. The CPU of kernel 0 that comes first, or kernel 0's panic, writes
 * what the terminal had accepted. Shared directories need nothing of the kind: a write is acknowledged when the host
 * has it. What is done here takes no lock and waits for nothing without a bound. */
#include "kernel/machine/end.h"

#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/backtrace.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/tty/terminal.h"
#include "msg/alive.h"
#include "tasks/process/process.h"
#include "tasks/sched/wait_dump.h"
#include "tasks/thread/group.h"

#define FIRST_TIME 1000000000ull  /* ns: for the CPUs of kernel 0 to say where they are and to halt */
#define OTHERS_TIME 3000000000ull /* ns: the same for those of all other kernels */
#define STAND_TIME 1000000000ull  /* ns: for the other CPUs of this kernel to stand */
#define FLUSH_TIME (TERMINAL_FLUSH_TIME + STAND_TIME) /* ns: for kernel 0 to write what its terminal has accepted */
#define TRIES 20000000u                               /* the same while the clock stands */
#define NAMED_MAX 16u                                 /* processes of a kernel that are named */
#define COUNTED_MAX 65536u /* bounds the walk, because an unlocked table may change meanwhile */

static volatile bool alone;                 /* this kernel has panicked, and the others go on */
static volatile bool ender;                 /* this kernel ends the machine without kernel 0 */
static const struct cpu *volatile reporter; /* the CPU that writes the report of a panic */

static volatile uint32_t *slot_state(uint32_t cpu)
{
    return &window_boot_page()->slots[cpu].state;
}

bool end_is_noticed(uint32_t kernel)
{
    const struct boot_page *page = window_boot_page();

    return kernel != 0 ? (page->watched >> kernel & 1) != 0 : (page->watched & ~page->stopped) != 0;
}

/* --- CPUs that stand --- */

bool end_has_halted(kernel_set set)
{
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        int32_t kernel = instance.plan.cpus[i].kernel;

        if (i != cpu_self()->number && kernel >= 0 && (set >> kernel & 1) != 0 &&
            __atomic_load_n(slot_state(i), __ATOMIC_ACQUIRE) == SLOT_TAKEN)
            return false;
    }
    return true;
}

static bool wait_halted(kernel_set set, uint64_t limit)
{
    uint64_t since = clock_now();
    uint32_t tries = 0;

    while (!end_has_halted(set)) {
        uint64_t spent = clock_now() - since;

        if (spent >= limit || (spent == 0 && ++tries >= TRIES))
            return false;
        cpu_pause();
    }
    return true;
}

/* Writes what the terminal has accepted: once. */
static void flush(void)
{
    static volatile bool flushed;

    if (instance.kernel != 0 || __atomic_exchange_n(&flushed, true, __ATOMIC_SEQ_CST))
        return;
    wait_halted(1, STAND_TIME); /* another one may be about to send a byte */
    terminal_flush();
}

/* Halts for good. A starter may fill the CPU's start slot again. */
static _Noreturn void leave(void)
{
    log_leave();
    flush();
    __atomic_store_n(slot_state(cpu_self()->number), SLOT_EMPTY, __ATOMIC_SEQ_CST);
    for (;;)
        cpu_stop();
}

static bool claim(uint32_t how)
{
    uint32_t nobody = END_NOT;

    return __atomic_compare_exchange_n(&window_boot_page()->ending, &nobody, how, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

/* Sends an NMI to all CPUs of the kernels of SET that run, but the calling one. */
static void interrupt(kernel_set set)
{
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        int32_t kernel = instance.plan.cpus[i].kernel;

        if (i != cpu_self()->number && kernel >= 0 && (set >> kernel & 1) != 0 && *slot_state(i) == SLOT_TAKEN)
            apic_send_nmi(instance.plan.cpus[i].apic_id);
    }
}

/* --- by a panic --- */

/* The hook panic_stop_others. Alone, the report has as long as other things that take long: nobody beats meanwhile. */
static bool stop_others(void)
{
    reporter = cpu_self();
    if (instance.kernel != 0 && end_is_noticed(instance.kernel) && window_boot_page()->ending == END_NOT) {
        alone = true;
        alive_pause(true);
        interrupt(1ull << instance.kernel);
        return true;
    }
    if (!claim(END_SILENT))
        leave(); /* the first writes: two that stop each other would both be silent */
    interrupt(~0ull);
    return false;
}

/* The hook panic_over. Alone: the reader of the report, kernel 0, finds at its next look that this kernel is dead. */
static void panicked(void)
{
    if (alone) {
        reporter = NULL;
        __atomic_fetch_or(&window_boot_page()->stopped, 1ull << instance.kernel, __ATOMIC_SEQ_CST);
        return;
    }
    flush();
    wait_halted(1, FLUSH_TIME); /* else kernel 0 does it */
    reporter = NULL;
}

void end_init(void)
{
    panic_stop_others = stop_others;
    panic_over = panicked;
}

/* --- without kernel 0 --- */

struct naming {
    uint32_t seen, named, more;
};

static bool name(struct group *group, void *context)
{
    struct naming *naming = context;

    if (group->process != NULL && naming->named == NAMED_MAX)
        naming->more++;
    if (group->process != NULL && naming->named < NAMED_MAX) {
        naming->named++;
        log_line("kernel: process %u (%.*s) is lost", group->id, THREAD_NAME_MAX, group->process->name);
    }
    return ++naming->seen < COUNTED_MAX;
}

/* What the calling CPU, which FRAME has interrupted, has to say. No locks: see wait_dump. */
static void tell(const struct trap_frame *frame)
{
    struct naming naming = {.seen = 0};

    if (instance.kernel == 0 && !trap_from_user(frame)) {
        log_line("kernel: was in");
        backtrace_print(frame->rbp, frame->rip);
    }
    if (cpu_self()->scheduler == NULL)
        return;
    wait_dump(frame);
    if (cpu_index() != 0)
        return;
    group_each_still(name, &naming);
    if (naming.more > 0)
        log_line("kernel: and %u more processes", naming.more);
}

static void name_missing(void)
{
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (i != cpu_self()->number && *slot_state(i) == SLOT_TAKEN)
            log_line("kernel: CPU %u of kernel %d has not halted at an NMI%s", i, instance.plan.cpus[i].kernel,
                     instance.plan.cpus[i].kernel == 0 ? ": what the terminal has accepted last may be missing" : "");
    }
}

void end_without_first(const char *why)
{
    struct boot_page *page = window_boot_page();

    interrupts_off();
    if (!claim(END_TOLD))
        leave();
    ender = true;
    log_event("panic kernel 0 has died%s: %s", (page->asked & 1) != 0 ? ", as a program asked" : "", why);
    __atomic_fetch_or(&page->stopped, 1, __ATOMIC_SEQ_CST);
    interrupt(1);
    wait_halted(1, FIRST_TIME); /* so that what it says comes first */
    interrupt(~1ull);
    wait_halted(~1ull, OTHERS_TIME);
    wait_halted(1, FLUSH_TIME);
    name_missing();
    apic_send_nmi(cpu_self()->apic_id); /* this CPU tells what it has, too, and comes back */
    log_event("panic-end");
    leave();
}

/* Whether this kernel is dead because it was silent, for the first of its CPUs that comes to halt: see stop_cpus. */
static bool was_silent(void)
{
    uint64_t bit = 1ull << instance.kernel;

    return (__atomic_fetch_and(&window_boot_page()->probed, ~bit, __ATOMIC_SEQ_CST) & bit) != 0;
}

bool end_nmi(const struct trap_frame *frame)
{
    const struct boot_page *page = window_boot_page();
    uint32_t ending = page->ending;
    bool dead = (page->stopped >> instance.kernel & 1) != 0; /* others think so */

    if (reporter == cpu_self() && ending != END_TOLD && !dead) {
        alive_probed(); /* asked just before the others heard of the panic */
        return true;
    }
    if (ending == END_TOLD)
        tell(frame);
    if (ending == END_TOLD && ender && cpu_index() == 0)
        return true;
    if (ending != END_NOT)
        leave();
    if (!alone && !dead)
        return alive_probed();
    if (!alone && was_silent() && !trap_from_user(frame)) { /* for whoever looks for the reason */
        log_line("kernel: silent in");
        backtrace_print(frame->rbp, frame->rip);
    }
    leave();
}
