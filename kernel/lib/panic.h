/* Panic: reports a broken invariant and its kernel, and stops the machine. */
#ifndef KERNEL_LIB_PANIC_H
#define KERNEL_LIB_PANIC_H

#include <stdint.h>

/* Prints "part: invariant" with the kernel and CPU number and a symbolised backtrace to the log, stops every other
 * CPU of the machine and halts. FORMAT starts with the part's name: panic("mm: frame %lx freed twice", frame). */
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a state that a trap has saved: the backtrace starts at RIP and FRAME_POINTER. */
_Noreturn void panic_at(uint64_t frame_pointer, uint64_t rip, const char *text);

/* Stops every other CPU of the machine; registered by the part that knows the CPUs. */
extern void (*panic_stop_others)(void);

/* For internal invariants only: input from a program or a peer must never trigger one. */
#define assert(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            panic("%s:%d: assertion failed: %s", __FILE__, __LINE__, #condition);                                      \
    } while (0)

#endif
