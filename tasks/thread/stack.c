/* Kernel stacks. See the header. A free stack keeps its memory and is reused, as the pages could be unmapped only after
 * all CPUs of the kernel have flushed their TLBs (docs/limits.md). Nothing may write to the stack of a thread that has
 * ended: who signals a waiter there does so under a lock that the waiter takes before it returns. */
#include "tasks/thread/stack.h"

#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/window.h"
#include "mm/frame/frame.h"

#define STACK_STRIDE (2ull * STACK_SIZE) /* a stack and the unmapped pages below it */

struct free_stack {
    struct free_stack *next;
};

static struct spinlock lock;
static uint64_t next = STACK_BASE;     /* [k] lock: address space never used yet */
static struct free_stack *free_stacks; /* [k] lock: mapped stacks for reuse, linked through their first word */
static uint64_t made;                  /* [k] lock */

/* Maps frames at STACK. On failure the pages mapped so far stay for the next try at the same address. */
static bool map_locked(uint64_t stack)
{
    for (uint64_t at = stack; at < stack + STACK_SIZE; at += PAGE_SIZE) {
        uint64_t *entry = paging_entry(&window_tables, at, true);
        uint64_t frame = entry != NULL && *entry == 0 ? frame_alloc(0) : 0;

        if (entry != NULL && *entry == 0 && frame == 0)
            frame_refused(0);
        if (entry == NULL || (*entry == 0 && frame == 0))
            return false;
        if (*entry == 0)
            *entry = frame | PAGING_PRESENT | PAGING_WRITE | PAGING_GLOBAL | PAGING_NO_EXECUTE;
    }
    return true;
}

uint64_t thread_stack_alloc(void)
{
    uint64_t stack = 0;

    spin_lock(&lock);
    if (free_stacks != NULL) {
        stack = (uint64_t)free_stacks;
        free_stacks = free_stacks->next;
    } else if (map_locked(next + STACK_SIZE)) {
        stack = next + STACK_SIZE;
        next += STACK_STRIDE;
        made++;
    }
    spin_unlock(&lock);
    return stack;
}

void thread_stack_free(uint64_t stack)
{
    struct free_stack *freed = (struct free_stack *)stack;

    spin_lock(&lock);
    freed->next = free_stacks;
    free_stacks = freed;
    spin_unlock(&lock);
}

uint64_t thread_stack_count(void)
{
    uint64_t count;

    spin_lock(&lock);
    count = made;
    spin_unlock(&lock);
    return count;
}
