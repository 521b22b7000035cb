/* Access to the memory of the current program, for system calls. An access may fault, so all of these may wait. */
#ifndef MM_USER_USER_COPY_H
#define MM_USER_USER_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/area/range.h"

/* Copy SIZE bytes from or to the current program; -EFAULT. */
int user_read(void *to, uint64_t from, uint64_t size);
int user_write(uint64_t to, const void *from, uint64_t size);
/* As user_write, but takes no fault, so that the caller may hold locks: -EFAULT also if a page is not mapped now. Some
 * bytes may have been copied then. */
int user_write_mapped(uint64_t to, const void *from, uint64_t size);
/* Returns how many of the SIZE bytes (at least 1) from ADDRESS on the current program can write before the first page
 * that it cannot. Changes none of them. */
uint64_t user_reach(uint64_t address, uint64_t size);
/* Copies a string of at most SIZE - 1 bytes and its NUL. Returns its length, -EFAULT or -ENAMETOOLONG. Works in slices:
 * the caller holds no lock. */
int64_t user_read_string(char *to, uint64_t from, uint64_t size);

#endif
