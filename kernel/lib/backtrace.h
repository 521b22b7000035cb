/* Backtraces by frame pointers. Any context, also an NMI. */
#ifndef KERNEL_LIB_BACKTRACE_H
#define KERNEL_LIB_BACKTRACE_H

#include <stddef.h>
#include <stdint.h>

/* Logs the call chain of RIP (0: omitted) and FRAME_POINTER, one function per line. */
void backtrace_print(uint64_t frame_pointer, uint64_t rip);
/* Writes the names of the same functions, innermost first, to TEXT as "a < b < c"; names that do not fit into SIZE
 * bytes are omitted. */
void backtrace_line(uint64_t frame_pointer, uint64_t rip, char *text, size_t size);

#endif
