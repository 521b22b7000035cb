/* Operations on descriptors at the home of their group. The home changes the table, and does operations on its own
 * files; for other files it answers FILE_ELSEWHERE with the file's id and kernel. kernel/file/files.md has the
 * protocol; kernel/file/remote.c brings requests here. */
#ifndef KERNEL_FILE_HOME_H
#define KERNEL_FILE_HOME_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"

struct file_table;

/* Does REQUEST, with SIZE bytes of DATA and ROOM bytes for RESULT, in TABLE, which is of this kernel. Returns the
 * operation's value, which is also in ANSWER. ANSWER's flags FILE_ELSEWHERE, FILE_UNLOCKS and FILE_LIMITED_SIZE say
 * that the operation was not done and what the caller does instead. Any context; never waits. */
int64_t home_do(struct file_table *table, const struct file_request *request, const void *data, size_t size,
                void *result, size_t room, struct file_answer *answer);

#endif
