/* The parts of test-filemap: one file, this program's own, mapped and looked at. */
#ifndef TESTS_GUEST_FILEMAP_H
#define TESTS_GUEST_FILEMAP_H

#include <signal.h>
#include <stdbool.h>

extern long filemap_pages;           /* of the file, the last one too, which is not full */
extern unsigned char *filemap_bytes; /* what it has, and zeros to the end of the last page */

/* Reads the file; once, first. */
void filemap_begin(void);

/* Opens it; ends the process when that fails. */
int filemap_open(int flags);
/* Maps PAGES pages from page FIRST on, or ends the process. */
char *filemap_map(long first, long pages, int prot, int flags);

/* AREA has PAGES pages of the file from page FIRST on, as the calling thread's kernel sees it. */
bool filemap_same(const char *area, long first, long pages);
/* AREA, the whole file, goes on with zeros. */
bool filemap_tail_zero(const char *area);

/* Reads ADDRESS, or writes back what is there. Returns the signal times 100 and its code, 0 without one; -1 when the
 * signal names another address. */
int filemap_signal(char *address, bool write);

/* Of other processes and threads: filemap_process.c. */
void filemap_test_same_page(void);
void filemap_test_race(void);
void filemap_test_maps(void);
void filemap_test_exec(void);
/* main of a child that filemap_test_exec has started. */
int filemap_child(const char *word);

#endif
