/* What the home of a group does with its descriptors: it changes the table, and does on a file of its own what is
 * asked, or says where the file is. kernel/file/files.md has the protocol; kernel/file/remote.c brings requests here.
 */
#ifndef KERNEL_FILE_HOME_H
#define KERNEL_FILE_HOME_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"

struct file_table;

/* Does REQUEST, with SIZE bytes of DATA and ROOM bytes for RESULT, in TABLE, which is of this kernel. Returns what the
 * operation returns, which ANSWER has too; or the file is elsewhere, or there are locks to let go of, or a limit to
 * observe: ANSWER's flags FILE_ELSEWHERE, FILE_UNLOCKS, FILE_LIMITED_SIZE. Any context; waits for nothing. */
int64_t home_do(struct file_table *table, const struct file_request *request, const void *data, size_t size,
                void *result, size_t room, struct file_answer *answer);

#endif
