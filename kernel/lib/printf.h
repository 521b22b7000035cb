/* Formatted text into a buffer. Host tests link the C library's functions of the same name. */
#ifndef KERNEL_LIB_PRINTF_H
#define KERNEL_LIB_PRINTF_H

#include <stdarg.h>
#include <stddef.h>

/* As C11 7.21.6.5 for %d %i %u %x %X %c %s %p %% with the flags 0 and -, a width, a precision for %s, and the
 * lengths l, ll, z and h. Returns the length of the whole text; writes at most SIZE bytes with a NUL. */
int snprintf(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *text, size_t size, const char *format, va_list args) __attribute__((format(printf, 3, 0)));

#endif
