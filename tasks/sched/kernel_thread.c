/* Threads of the kernel. See the header. */
#include "tasks/sched/kernel_thread.h"

#include "mm/frame/heap.h"
#include "tasks/sched/sched.h"

struct kernel_start {
    void (*function)(void *);
    void *argument;
};

static void run_kernel_thread(void *argument)
{
    struct kernel_start start = *(struct kernel_start *)argument;

    sched_after_switch();
    heap_free(argument, sizeof(start));
    start.function(start.argument);
    sched_die();
}

struct thread *thread_create_kernel(const char *name, void (*function)(void *), void *argument)
{
    struct kernel_start *start = heap_alloc(sizeof(*start));
    struct thread *thread = start != NULL ? thread_create(0, name, run_kernel_thread, start) : NULL;

    if (thread == NULL) {
        heap_free(start, sizeof(*start));
        return NULL;
    }
    *start = (struct kernel_start){function, argument};
    return thread;
}
