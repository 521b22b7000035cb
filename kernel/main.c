/* Start of an instance: from the private copy of the image that boot/ has made, to the scheduler. Every instance, the
 * first one too, runs the same steps; only the boot CPU of kernel 0 measures the clock and starts the first process. */
#include "boot/options/control.h"
#include "boot/options/options.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/process/exec.h"
#include "kernel/dev/serial.h"
#include "kernel/file/move/move.h"
#include "kernel/files.h"
#include "kernel/first.h"
#include "kernel/fs/share/share.h"
#include "kernel/fs/tree/initramfs.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "kernel/machine/death.h"
#include "kernel/machine/end.h"
#include "kernel/machine/host.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/stop.h"
#include "kernel/process/audit.h"
#include "kernel/process/reach.h"
#include "kernel/process/retrieve.h"
#include "kernel/vdso/pages.h"
#include "mm/audit/audit.h"
#include "mm/evacuate/evacuate.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/mm.h"
#include "msg/alive.h"
#include "msg/channel.h"
#include "tasks/oom/oom.h"
#include "tasks/process/group.h"
#include "tasks/sched/kernel_thread.h"
#include "tasks/sched/sched.h"
#include "tasks/sched/wait_dump.h"
#include "tasks/tasks.h"
#include "tasks/thread/stack.h"

#define LAPIC_SIZE 4096

static struct cpu boot_cpu;

static unsigned cpu_number(void)
{
    return cpu_self()->number;
}

static uint64_t window_frame(void *context)
{
    (void)context;
    return frame_alloc_zeroed();
}

static const struct msg_memory memory_for_messages = {heap_alloc_sure, heap_alloc_unset, heap_free};

/* Every range of ours but the chunk, which is in use since the builder made it, except what would be its text. */
static void frames_init(void)
{
    uint64_t chunk = instance.plan.kernels[instance.kernel].chunk;
    uint64_t chunk_end = chunk + instance.layout.size;

    for (uint32_t i = 0; i < instance.plan.range_count; i++) {
        const struct plan_range *range = &instance.plan.ranges[i];
        uint64_t end = range->base + range->size;

        if (range->kernel != instance.kernel)
            continue;
        if (chunk < range->base || chunk >= end) {
            frame_add_range(range->base, range->size, DIRECT_BASE, range->node);
            continue;
        }
        frame_add_range(range->base, chunk + instance.spare - range->base, DIRECT_BASE, range->node);
        frame_add_range(chunk_end, end - chunk_end, DIRECT_BASE, range->node);
    }
}

/* The host may ask for a wait dump at any time, and firmware may leave the NMI pin open: so also before there is a boot
 * page, which is there when the log has its owner word, or a run queue. */
void machine_nmi(const struct trap_frame *frame)
{
    if (log_source.owner != NULL && end_nmi(frame))
        return;
    if (cpu_self()->scheduler == NULL)
        log_event("wait kernel %u cpu %u still boots", instance.kernel, cpu_self()->number);
    else
        wait_dump(frame);
}

static void apic_start(void)
{
    if (!cpu_features.x2apic)
        apic_set_registers(window_map_device(instance.lapic_address, LAPIC_SIZE));
    apic_init_cpu();
}

static void ap_main(void *argument)
{
    struct cpu *cpu = argument;

    cpu_init(cpu);
    frame_start_cpu(cpu->node);
    apic_init_cpu();
    clock_compare_all();
    cpu->root = 0;
    sched_init_cpu();
    __atomic_store_n(&cpu->online, true, __ATOMIC_RELEASE);
    sched_idle();
}

/* Starts the instance's other CPUs, which use its page tables and find their stacks in its own memory. */
static void start_own_cpus(void)
{
    uint32_t started = 1;

    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        struct cpu *cpu;
        uint64_t stack, *top;

        if (instance.plan.cpus[i].kernel != (int32_t)instance.kernel || i == boot_cpu.number)
            continue;
        cpu = heap_alloc(sizeof(*cpu));
        stack = thread_stack_alloc();
        if (cpu == NULL || stack == 0)
            panic("kernel: no memory for CPU %u", i);
        cpu->index = started;
        cpu->number = i;
        cpu->apic_id = instance.plan.cpus[i].apic_id;
        cpu->node = instance.plan.cpus[i].node;
        top = (uint64_t *)(stack + STACK_SIZE);
        *--top = 0;
        *--top = (uint64_t)ap_main;
        *--top = (uint64_t)cpu;
        cpus[started] = cpu;
        if (!instance_start_cpu(i, instance.root, (uint64_t)top)) {
            log_line("kernel: CPU %u did not start and is left out", i);
            continue;
        }
        while (!__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE))
            clock_compare();
        cpu_total = ++started;
    }
}

/* The boot option panic=K is how the path of a panic is tested. */
static void panic_if_asked(void)
{
    if (option_number(instance.cmdline, "panic") == instance.kernel)
        panic("kernel: the boot option panic=%u asks for this", instance.kernel);
}

static void first_task(void *unused)
{
    kernel_set all = instance.kernels == 64 ? ~0ull : (1ull << instance.kernels) - 1;

    (void)unused;
    alive_start();
    if (instance.kernel != 0) {
        start_announce();
        panic_if_asked();
        return;
    }
    if (option_is(instance.cmdline, "boot", "all")) {
        int error = start_kernels(all);

        if (error != 0)
            panic("kernel: the other kernels did not start (error %d)", error);
    }
    share_start();
    panic_if_asked();
    first_process_start();
}

static void print_plan(void)
{
    size_t size = plan_format(&instance.plan, NULL, 0) + 1;
    char *text = heap_alloc(size);
    char *line = text;

    if (text == NULL)
        panic("kernel: no memory to print the plan");
    plan_format(&instance.plan, text, size);
    while (*line != '\0') {
        char *end = strchr(line, '\n');

        if (end != NULL)
            *end = '\0';
        log_event("plan %s", line);
        if (end == NULL)
            break;
        line = end + 1;
    }
    heap_free(text, size);
}

/* skew=NS: each kernel's time lags NS behind that of the one before, as if counters differed: for tests. */
static void clock_start(void)
{
    clock_init(&instance.rates);
    clock_share(&window_boot_page()->clock, option_number(instance.cmdline, "skew") * instance.kernel);
}

void kernel_main(void *unused)
{
    struct thread *task;

    (void)unused;
    cpu_detect();
    cpu_several = instance.plan.kernels[instance.kernel].cpu_count > 1;
    traps_init();
    boot_cpu.number = instance.plan.kernels[instance.kernel].boot_cpu;
    boot_cpu.apic_id = instance.plan.cpus[boot_cpu.number].apic_id;
    boot_cpu.node = instance.plan.cpus[boot_cpu.number].node;
    cpu_init(&boot_cpu);
    cpus[0] = &boot_cpu;
    cpu_total = 1;
    log_source.kernel = (int)instance.kernel;
    log_source.cpu = cpu_number;

    window_init();
    if (instance.kernel != 0) { /* first of all, for kernel 0 compares its own meanwhile */
        clock_start();
        clock_compare_all();
    }
    log_source.owner = &window_boot_page()->console_owner;
    frames_init();
    frame_start_cpu(boot_cpu.node);
    window_use_allocator(window_frame);
    apic_start();
    end_init();
    if (instance.kernel == 0) {
        clock_calibrate(&instance.rates);
        clock_start();
    }
    log_source.nanoseconds = clock_now;
    window_boot_page()->slots[boot_cpu.number].state = SLOT_TAKEN;

    tasks_init_tables();
    option_start(instance.cmdline, instance.kernel, instance.kernels);
    msg_init(&memory_for_messages);
    mm_init();
    tasks_init();
    exec_init();
    start_init();
    evacuate_init();
    audit_init();
    move_init();
    stop_kernel_init();
    death_init();
    control_init();
    audit_calls_init();
    retrieve_calls_init();
    oom_may_begin_again = calls_may_begin_again;
    files_init();
    boot_cpu.online = true;
    if (instance.kernel == 0)
        share_find_devices();
    start_own_cpus();
    if (instance.kernel == 0) {
        print_plan();
        serial_init();
        initramfs_init();
    }
    vdso_init();
    host_init();
    reach_init();
    log_line("kernel: runs on %u CPU%s, %lu MiB", cpu_total, cpu_total == 1 ? "" : "s",
             (unsigned long)(instance.plan.kernels[instance.kernel].memory >> 20));

    task = thread_create_kernel("start", first_task, NULL);
    if (task == NULL)
        panic("kernel: no memory for the first task");
    sched_start(task);
    sched_idle();
}
