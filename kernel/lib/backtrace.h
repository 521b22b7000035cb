/* Which functions led to where a CPU is, by frame pointers. Any context, also an NMI. */
#ifndef KERNEL_LIB_BACKTRACE_H
#define KERNEL_LIB_BACKTRACE_H

#include <stddef.h>
#include <stdint.h>

/* Prints the functions that lead to RIP (0: leave it out) and FRAME_POINTER to the log, one a line. */
void backtrace_print(uint64_t frame_pointer, uint64_t rip);
/* Their names alone, the innermost first, as "a < b < c", into TEXT; what does not fit into SIZE bytes is left out. */
void backtrace_line(uint64_t frame_pointer, uint64_t rip, char *text, size_t size);

#endif
