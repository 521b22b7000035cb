/* The kernel log: lines of text on the debug console (port 0xe9), which the host keeps apart from the program's
 * terminal. Each call writes one line, "[k3 c5 1.234567] text", in any context.
 *
 * The console is one device for all instances. Its owner word, one more than the number of the CPU that writes, lies
 * in the boot page; a CPU that cannot get it within a bounded time writes anyway, so a dead owner costs readability,
 * never progress. An NMI may come in the middle of a line: what its handler writes begins a line of its own. */
#ifndef KERNEL_LIB_LOG_H
#define KERNEL_LIB_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LINE_MAX 512 /* bytes of one line; longer ones are cut */

/* Facts about the caller that the prefix of a line shows; set once by the part that knows them. */
struct log_source {
    int kernel;                    /* [i] number of this instance, -1 before there is one */
    volatile uint32_t *owner;      /* [i] the console's owner word, or NULL while only one CPU runs; set after CPU */
    unsigned (*cpu)(void);         /* [i] machine-wide number of the calling CPU, or NULL */
    uint64_t (*nanoseconds)(void); /* [i] time since boot, or NULL */
};

extern struct log_source log_source;

/* Writes one line. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes one event line for the host, "@name text", without the prefix. */
void log_event(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes TEXT unchanged, without a line end and without taking the console. For the panic path. */
void log_raw(const char *text);

/* Called by a CPU that an NMI halts for good: gives back the console, if the CPU was in the middle of a line. */
void log_leave(void);

#endif
