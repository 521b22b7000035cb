/* Threads made with clone alone, as the C library makes them, but joined by looking at a cleared thread id:
 * no futex.
 *
 * The C library does not know these threads. In one of them a program may use its own memory, thread-local
 * variables and x86.h's system calls; it must not use malloc or stdio, and may check only as the harness says. */
#ifndef USERLAND_THREAD_H
#define USERLAND_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct thread {
    void (*run)(struct thread *thread);
    int index;          /* the starter's number for it */
    void *argument;     /* the starter's */
    atomic_long result; /* the thread's, for the starter */
    atomic_int tid;     /* set before it runs, cleared by the kernel when it has ended */
    int tid_first;      /* as clone returned it */
    char *area;         /* guard page, stack, thread-local storage */
};

/* Starts a thread that calls RUN with THREAD, whose other fields are kept, and ends when RUN returns. Returns
 * false with errno set when the kernel refuses. Any thread may start others. */
bool thread_start(struct thread *thread, void (*run)(struct thread *thread));

/* Starts a thread that has ended, as thread_ended says, once more on the stack that it had. */
bool thread_again(struct thread *thread, void (*run)(struct thread *thread));

/* Waits until the thread has ended. False if it has not in a minute. */
bool thread_ended(struct thread *thread);

/* As thread_ended, and gives its stack back. */
bool thread_join(struct thread *thread);

/* Ends the calling thread at once. */
_Noreturn void thread_exit(int status);

/* Waits, for a minute at most, until *VALUE is at least GOAL. Lets other threads run. */
bool thread_wait(atomic_int *value, int goal);

/* Moves the calling thread to KERNEL, trying for some seconds when that does not run. Returns 0 or a negative errno;
 * without Kettle 0 for kernel 0. */
long thread_move(int kernel);

/* The kernel of the calling thread; 0 where there is no Kettle. */
int thread_kernel(void);

/* The monotonic clock in nanoseconds. */
long thread_time(void);

#endif
