/* Panic: reports a broken invariant and its kernel, and ends the kernel: where the other kernels survive that, alone,
 * and else with the machine (kernel/machine/death.md). */
#ifndef KERNEL_LIB_PANIC_H
#define KERNEL_LIB_PANIC_H

#include <stdbool.h>
#include <stdint.h>

/* Prints "part: invariant" with the kernel and CPU number and a symbolised backtrace to the log, stops the other
 * CPUs of this kernel, or of the machine, and halts. FORMAT starts with the part's name: panic("mm: frame %lx freed
 * twice", frame). */
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a state that a trap has saved: the backtrace starts at RIP and FRAME_POINTER. */
_Noreturn void panic_at(uint64_t frame_pointer, uint64_t rip, const char *text);

/* Called before the report: stops the other CPUs of this kernel, and returns true if the other kernels go on; else
 * stops every other CPU of the machine. panic_over is called after the report, and before the host is told that the
 * report of a machine's end is complete. Registered by the part that knows the CPUs. */
extern bool (*panic_stop_others)(void);
extern void (*panic_over)(void);

/* For internal invariants only: input from a program or a peer must never trigger one. */
#define assert(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            panic("%s:%d: assertion failed: %s", __FILE__, __LINE__, #condition);                                      \
    } while (0)

#endif
