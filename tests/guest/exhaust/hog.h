/* What a user without privileges can do to take memory from the kernels: each way on until the system refuses.
 *
 * No function here uses the C library's heap, so they work beside almost no memory. */
#ifndef TESTS_GUEST_HOG_H
#define TESTS_GUEST_HOG_H

#include <stdbool.h>

#define HOG_USER 1000

/* The calling process becomes one of HOG_USER, without any privilege. Ends the process when that fails. */
void hog_become_user(void);

/* These return how often they succeeded, and leave the refusal in errno. What they take comes back when the process
 * ends, but for the names. */
long hog_pipes(void);
long hog_protections(void);
long hog_processes(void); /* the children wait until they are killed, or until the process has ended */
long hog_threads(void);
long hog_signals(void); /* to the process itself, blocked */
long hog_timers(void);
long hog_sockets(void); /* bytes in the queues of socket pairs */
long hog_flying(void);  /* descriptors under way in a socket that nobody reads */
long hog_polls(void);   /* descriptors in epoll sets */
long hog_mappings(void);
long hog_file(void);      /* pages of a file in memory that has no name */
long hog_pages(void);     /* until the process is killed */
long hog_tables(void);    /* page tables: one page written in each 2 MiB */
long hog_locks(void);     /* of ranges of a file */
long hog_watches(void);   /* of inotify */
long hog_terminals(void); /* pseudo-terminals with bytes that nobody takes */
long hog_sparse(void);    /* pages of a file that are far from each other */
long hog_nested(void);    /* epoll sets in each other */
/* Gives the file hog_names_begin has made as many names as possible, numbered from FROM on. */
long hog_names(long from);

/* Makes the directory and the file for hog_names; the caller is root. */
void hog_names_begin(void);
/* Takes all names and the directory away. */
void hog_names_end(void);

/* True when a process of root's can do what a shell does: make a directory and a pipe, fork a child, read what it
 * writes, wait for it. */
bool hog_root_works(void);
/* Which of these was refused last. */
extern const char *hog_refused;

/* Kills the user's processes until this process, a subreaper of root's, has no children: then none is left, as their
 * orphans are its children, too. MAY_FAIL: allocations are refused now, and so may be what this needs. False: one that
 * was killed has not ended within TAP_PATIENCE. */
bool hog_end_user(bool may_fail);

/* Pages of the machine that are free. */
long hog_free_pages(void);

#endif
