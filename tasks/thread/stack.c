/* Kernel stacks. See the header.
 *
 * Free stacks are kept with their memory, up to KEPT of them. When there are twice as many, the memory of KEPT is given
 * back at once, because all CPUs of the kernel must flush their TLBs before the addresses are mapped again. Addresses
 * without memory lie between STACK_BASE and `next`, and are found by looking at the page tables. */
#include "tasks/thread/stack.h"

#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/arch/x86_64/tlb.h"
#include "kernel/instance/window.h"
#include "mm/frame/frame.h"

#define STACK_STRIDE (2ull * STACK_SIZE) /* a stack and the unmapped pages below it */
#define KEPT 8u

struct free_stack {
    struct free_stack *next;
};

static struct spinlock lock;
static uint64_t next = STACK_BASE;     /* [k] lock: address space never used yet */
static uint64_t unmapped, cursor;      /* [k] lock: stacks below NEXT without memory; where to look for one first */
static struct free_stack *free_stacks; /* [k] lock: linked through their first word */
static uint32_t free_count;            /* [k] lock */
static uint64_t mapped;                /* [k] lock: stacks with memory */

static uint64_t address_of(uint64_t number)
{
    return STACK_BASE + STACK_SIZE + number * STACK_STRIDE;
}

static uint64_t *entry_of(uint64_t address, bool create)
{
    return paging_entry(&window_tables, address, create);
}

/* Gives back the frames of the pages from STACK to END, which no TLB has. */
static void drop_pages_locked(uint64_t stack, uint64_t end)
{
    for (; stack < end; stack += PAGE_SIZE) {
        uint64_t *entry = entry_of(stack, false);

        frame_free(*entry & PAGING_FRAME, 0);
        *entry = 0;
    }
}

/* Maps frames at STACK. Not global, so that a change of page tables flushes them from a TLB. */
static bool map_locked(uint64_t stack)
{
    for (uint64_t at = stack; at < stack + STACK_SIZE; at += PAGE_SIZE) {
        uint64_t *entry = entry_of(at, true);
        uint64_t frame = entry != NULL ? frame_alloc(0) : 0;

        if (frame == 0) {
            drop_pages_locked(stack, at);
            return false;
        }
        *entry = frame | PAGING_PRESENT | PAGING_WRITE | PAGING_NO_EXECUTE;
    }
    mapped++;
    return true;
}

/* The next address below `next` without memory; there must be one. */
static uint64_t find_unmapped_locked(void)
{
    uint64_t stacks = (next - STACK_BASE) / STACK_STRIDE;

    for (;;) {
        const uint64_t *entry;

        cursor = cursor + 1 < stacks ? cursor + 1 : 0;
        entry = entry_of(address_of(cursor), false);
        if (*entry == 0)
            return address_of(cursor);
    }
}

uint64_t thread_stack_alloc(void)
{
    uint64_t stack;

    spin_lock(&lock);
    if (free_stacks != NULL) {
        stack = (uint64_t)free_stacks;
        free_stacks = free_stacks->next;
        free_count--;
    } else if (unmapped > 0) {
        stack = find_unmapped_locked();
        if (map_locked(stack))
            unmapped--;
        else
            stack = 0;
    } else {
        stack = next + STACK_SIZE;
        if (map_locked(stack))
            next += STACK_STRIDE;
        else
            stack = 0;
    }
    spin_unlock(&lock);
    return stack;
}

/* Gives back the memory of KEPT free stacks. Their entries lose only the present bit until no TLB has them. */
static void shrink_locked(void)
{
    struct free_stack *first = free_stacks, *stack = first;
    uint64_t given[KEPT];

    for (uint32_t i = 0; i < KEPT; i++) {
        given[i] = (uint64_t)stack;
        stack = stack->next;
    }
    free_stacks = stack;
    free_count -= KEPT;
    for (uint32_t i = 0; i < KEPT; i++) {
        for (uint64_t page = 0; page < STACK_SIZE; page += PAGE_SIZE)
            *entry_of(given[i] + page, false) &= ~PAGING_PRESENT;
    }
    tlb_flush_all();
    for (uint32_t i = 0; i < KEPT; i++)
        drop_pages_locked(given[i], given[i] + STACK_SIZE);
    mapped -= KEPT;
    unmapped += KEPT;
}

void thread_stack_free(uint64_t stack)
{
    struct free_stack *freed = (struct free_stack *)stack;

    spin_lock(&lock);
    freed->next = free_stacks;
    free_stacks = freed;
    if (++free_count >= 2 * KEPT)
        shrink_locked();
    spin_unlock(&lock);
}

uint64_t thread_stack_count(void)
{
    uint64_t count;

    spin_lock(&lock);
    count = mapped;
    spin_unlock(&lock);
    return count;
}
