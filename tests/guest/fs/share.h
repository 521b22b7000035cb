/* The parts of test-share. */
#ifndef TESTS_GUEST_SHARE_H
#define TESTS_GUEST_SHARE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARE_BYTES (256 * 1024)

extern char share_base[PATH_MAX]; /* the working directory of the tests, absolute */
extern char share_bytes[SHARE_BYTES], share_others[SHARE_BYTES];

/* Bytes that only SEED decides. */
void share_fill(char *to, size_t size, uint64_t seed);
/* The names of a directory, but "." and ".."; -1: it cannot be listed. */
long share_count(const char *path);
/* Copies a file, a piece on each kernel in turn. Changes share_bytes. */
bool share_copy(const char *from, const char *to);
/* What the host asks for: main's status. */
int share_help_host(int argc, char **argv);

void share_test_bytes(void);
void share_test_offsets(void);
void share_test_flags(void);
void share_test_unlinked(void);
void share_test_appends(void);
void share_test_writers(void);

void share_test_names(void);
void share_test_listing(void);
void share_test_links(void);
void share_test_renames(void);
void share_test_removed_directory(void);

#endif
