/* Loading page tables, and TLB shootdown. See the header. */
#include "kernel/arch/x86_64/tlb.h"

#include <stdbool.h>

#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/arch/x86_64/traps.h"

#define FLUSH_ONE_BY_ONE 32u /* pages; more are flushed by loading CR3 */

#define TRANSLATED_FLUSH 20000000ull /* ns between two flushes for the sake of TCG */

static uint64_t flushed[CPUS_MAX]; /* [o] by index: when tlb_tick has flushed last, in clock_now ns */
static uint64_t own_root;          /* [i] root of the kernel's own tables */
static struct spinlock flush_lock; /* flush_pending is a single word per CPU */

void tlb_init(uint64_t kernel_root)
{
    own_root = kernel_root;
}

void tlb_load(uint64_t root)
{
    struct cpu *cpu = cpu_self();

    cpu->root_kept = false;
    if (cpu->root == root)
        return;
    cpu->root_left = cpu->root; /* tlb_forget must still find these tables, which must not be freed while loaded */
    cpu->root = root;
    memory_fence(); /* publish the new root, then load it: a shootdown reads the roots after it has changed the tables
                     */
    write_cr3(root);
    cpu->root_left = 0;
}

void tlb_load_own(void)
{
    tlb_load(own_root);
}

void tlb_keep(void)
{
    cpu_self()->root_kept = true;
}

void tlb_interrupt(void)
{
    struct cpu *cpu = cpu_self();

    if (cpu->flush_pending) {
        if (cpu->root_kept)
            tlb_load(own_root); /* so the next shootdown skips this CPU */
        else
            write_cr3(read_cr3());
        __atomic_store_n(&cpu->flush_pending, false, __ATOMIC_RELEASE);
    }
}

void tlb_tick(uint64_t now)
{
    uint64_t *last = &flushed[cpu_index()];

    if (!cpu_features.translated || now - *last < TRANSLATED_FLUSH)
        return;
    *last = now;
    write_cr3(read_cr3());
}

void cpu_relax(void)
{
    cpu_pause();
    tlb_interrupt();
}

/* cpu->root is read first, because tlb_load stores ROOT to cpu->root_left before it changes cpu->root. */
static bool has_loaded(const struct cpu *cpu, uint64_t root)
{
    return cpu->root == root || cpu->root_left == root;
}

/* Makes the other CPUs that have ROOT loaded (0: any root) flush their TLBs, or unload the tables if they only keep
 * them. */
static void flush_others(uint64_t root)
{
    uint32_t self = cpu_index();

    if (cpu_total == 1)
        return;
    spin_lock(&flush_lock);
    memory_fence(); /* the changed entries must be visible before we read which CPUs have the tables loaded */
    for (uint32_t i = 0; i < cpu_total; i++) {
        struct cpu *cpu = cpus[i];

        if (i != self && cpu->online && (root == 0 || has_loaded(cpu, root))) {
            __atomic_store_n(&cpu->flush_pending, true, __ATOMIC_RELEASE);
            apic_send(cpu->apic_id, VECTOR_FLUSH);
        }
    }
    for (uint32_t i = 0; i < cpu_total; i++) {
        while (i != self && __atomic_load_n(&cpus[i]->flush_pending, __ATOMIC_ACQUIRE))
            cpu_relax();
    }
    spin_unlock(&flush_lock);
}

void tlb_flush(uint64_t root, uint64_t start, uint64_t end)
{
    if (cpu_self()->root == root) {
        if ((end - start) / PAGE_SIZE <= FLUSH_ONE_BY_ONE) {
            for (uint64_t va = start; va < end; va += PAGE_SIZE)
                invlpg(va);
        } else {
            write_cr3(read_cr3());
        }
    }
    flush_others(root);
}

void tlb_flush_all(void)
{
    write_cr3(read_cr3());
    flush_others(0);
}

void tlb_forget(uint64_t root)
{
    if (cpu_self()->root == root)
        tlb_load(own_root);
    flush_others(root); /* the CPUs that have it loaded only keep it, and unload it */
}
