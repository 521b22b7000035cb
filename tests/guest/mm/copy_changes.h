/* Threads that change memory on all kernels while another thread's calls copy from it and to it. */
#ifndef TESTS_GUEST_COPY_CHANGES_H
#define TESTS_GUEST_COPY_CHANGES_H

#include <stdbool.h>

#define COPY_PAGES 8l

enum copy_changes {
    COPY_KEEP,    /* protections, moves to other addresses, nodes and back, forks: the memory keeps its bytes */
    COPY_DISCARD, /* and new memory in place of the old, which begins with zeros */
};

/* New memory of COPY_PAGES, and threads that change it until copy_changes_end; TYPE: as spread_memory_map's. NULL after
 * a failed check. All of it may be away, or must not be touched, at any time: the caller only gives it to calls. */
char *copy_changes_begin(enum copy_changes changes, int type);
/* Ends the threads; all of the memory can be used then, until copy_changes_free. */
void copy_changes_end(void);
void copy_changes_free(void);

#endif
