/* Running another program and waiting for it, as a shell does. */
#ifndef USERLAND_PROGRAM_H
#define USERLAND_PROGRAM_H

#include <sys/types.h>

/* Runs argv[0] with ARGV on the kernel of the calling thread and waits for it. A name without a slash is
 * looked up in /bin and then in /run. Returns its exit status, 128 plus the number of the signal it died of,
 * 127 when there is no such program, 126 when it cannot be started. Deaths and failures are said on standard
 * error after NAME, the caller's own name. Flushes standard output first, so that the order of what both
 * write is the order it happened. */
int program_run(char *const argv[], const char *name);

/* The same without waiting. Returns the process id, or -1 with errno after saying so. */
pid_t program_start(char *const argv[], const char *name);

#endif
