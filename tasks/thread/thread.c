/* Threads: creation, table, kernel stacks. See the header. */
#include "tasks/thread/thread.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/space/limit.h"
#include "mm/user/user_copy.h"
#include "msg/channel.h"
#include "tasks/quota/quota.h"
#include "tasks/thread/group.h"
#include "tasks/thread/number.h"
#include "tasks/thread/stack.h"

#define BUCKETS 1024u

static struct spinlock lock;
static struct list table[BUCKETS];  /* [k] lock */
static struct thread_counts counts; /* [k] lock */

static const struct policy *memory_policy(void)
{
    const struct thread *thread = thread_current();

    return thread != NULL && thread->group != NULL ? &thread->context.memory_policy : NULL;
}

static bool is_privileged(void)
{
    const struct thread *thread = thread_current();

    return thread == NULL || thread->group == NULL || thread->context.credentials.euid == 0;
}

/* What a handler asks for is the kernel's own, whatever thread it has interrupted: the request may be root's. */
static bool may_take_reserve(void)
{
    return msg_handling() || is_privileged();
}

void thread_init(void)
{
    frame_set_privileged(may_take_reserve);
    policy_of_task = memory_policy;
    space_locks_any = is_privileged;
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&table[i]);
    group_table_init();
}

static struct list *bucket_of(uint32_t tid)
{
    return &table[(tid ^ tid >> TID_KERNEL_SHIFT) % BUCKETS];
}

static struct thread *find_locked(uint32_t tid)
{
    list_for_each(node, bucket_of(tid)) {
        struct thread *thread = container_of(node, struct thread, table_node);

        if (thread->tid == tid)
            return thread;
    }
    return NULL;
}

uint32_t thread_new_tid(void)
{
    uint32_t tid = number_next();

    spin_lock(&lock);
    if (tid != 0) {
        counts.made++;
        counts.last = tid;
        counts.last_ns = clock_now();
    }
    spin_unlock(&lock);
    return tid;
}

/* Puts THREAD into the table, or takes it out, if it is there. */
static void enter_locked(struct thread *thread)
{
    list_append(bucket_of(thread->tid), &thread->table_node);
    number_use(thread->tid, NUMBER_THREAD);
}

static void leave_locked(struct thread *thread)
{
    if (list_empty(&thread->table_node))
        return;
    list_remove(&thread->table_node);
    number_leave(thread->tid, NUMBER_THREAD);
}

struct thread *thread_create(uint32_t tid, const char *name, void (*function)(void *), void *argument)
{
    struct thread *thread = heap_alloc(sizeof(*thread));
    uint64_t *top;

    if (thread == NULL)
        return NULL;
    thread->stack = thread_stack_alloc();
    if (thread->stack == 0) {
        heap_free(thread, sizeof(*thread));
        return NULL;
    }
    thread->tid = tid;
    thread->cpu = cpu_index();
    thread->fpu_cpu = UINT32_MAX;
    thread->state = THREAD_BLOCKED;
    thread->visited = 1ull << instance.kernel;
    memcpy(thread->context.name, name, strnlen(name, sizeof(thread->context.name) - 1));
    list_init(&thread->table_node);
    list_init(&thread->group_node);
    list_init(&thread->queue_node);

    /* the words that context_switch pops: r15 r14 r13 r12 rbx rbp and the return address */
    top = (uint64_t *)thread_frame(thread);
    *--top = 0;
    *--top = (uint64_t)context_start;
    *--top = 0;
    *--top = (uint64_t)function;
    *--top = (uint64_t)argument;
    for (int i = 0; i < 3; i++)
        *--top = 0;
    thread->saved_stack = (uint64_t)top;
    return thread;
}

void thread_publish(struct thread *thread)
{
    spin_lock(&lock);
    enter_locked(thread);
    counts.threads++;
    spin_unlock(&lock);
}

void thread_counts(struct thread_counts *out)
{
    spin_lock(&lock);
    *out = counts;
    spin_unlock(&lock);
    out->stacks = thread_stack_count();
}

void thread_free(struct thread *thread)
{
    spin_lock(&lock);
    leave_locked(thread);
    if (thread->group != NULL)
        counts.threads--;
    spin_unlock(&lock);
    thread_stack_free(thread->stack);
    assert(thread->pi.donations == NULL);
    if (thread->fpu != NULL) { /* a program's thread */
        signal_queue_remove(&thread->signals, ~0ull);
        heap_free(thread->fpu, cpu_features.fpu_size);
    }
    quota_give(QUOTA_TASKS, thread->quota_user, thread->quota_user != 0 ? 1 : 0);
    if (thread->group != NULL)
        group_put(thread->group);
    heap_free(thread, sizeof(*thread));
}

void thread_forget(struct thread *thread)
{
    spin_lock(&lock);
    leave_locked(thread);
    spin_unlock(&lock);
}

struct thread *thread_find(uint32_t tid)
{
    struct thread *found;

    spin_lock(&lock);
    found = find_locked(tid);
    spin_unlock(&lock);
    return found;
}

struct thread *thread_lock(uint32_t tid)
{
    struct thread *thread;
    struct group *group = NULL;

    spin_lock(&lock);
    thread = find_locked(tid);
    if (thread != NULL) {
        group = thread->group;
        group_get(group);
    }
    spin_unlock(&lock);
    if (group == NULL)
        return NULL;
    spin_lock(&group->lock);
    thread = thread_find(tid);
    if (thread != NULL && thread->group == group && !list_empty(&thread->group_node)) /* not still being made */
        return thread;
    spin_unlock(&group->lock);
    group_put(group);
    return NULL;
}

void thread_unlock(struct thread *thread)
{
    struct group *group = thread->group;

    spin_unlock(&group->lock);
    group_put(group);
}

void thread_rename(struct thread *thread, uint32_t tid)
{
    spin_lock(&lock);
    leave_locked(thread);
    thread->tid = tid;
    enter_locked(thread);
    spin_unlock(&lock);
}

void thread_reload(struct thread *thread)
{
    struct cpu *cpu = cpu_self();

    if (thread->context.rseq != 0)
        __atomic_fetch_or(&thread->due, THREAD_DUE_RSEQ, __ATOMIC_SEQ_CST);
    fpu_restore(thread->fpu);
    cpu->fpu_owner = thread;
    thread->fpu_cpu = cpu->index;
    wrmsr(MSR_FS_BASE, thread->context.fs_base);
    wrmsr(MSR_KERNEL_GS_BASE, thread->context.gs_base);
}
