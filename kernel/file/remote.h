/* Operations on descriptors, requested on any kernel. Operations on the descriptor table are done at the group's home,
 * those on one file at the file's kernel: by a plain call when that is this kernel, else by the operation's message
 * (serve.h). kernel/file/files.md has the protocol. */
#ifndef KERNEL_FILE_REMOTE_H
#define KERNEL_FILE_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/file/wire.h"

struct group;

/* Does REQUEST for GROUP with SIZE bytes of DATA (at most FILE_CHUNK); result data goes to RESULT (ROOM bytes, at most
 * FILE_CHUNK). Returns what the operation returns; ANSWER has more, see FILE_MAY_WAIT. Tasks only. */
int64_t file_call(struct group *group, const struct file_request *request, const void *data, size_t size, void *result,
                  size_t room, struct file_answer *answer);

/* The file of FD alone, or of FILE_WORKING_DIRECTORY, in PLACE, whose id is 0 if there is none. 0 or a negative errno.
 * The file may be closed by the time that PLACE is used: -ESRCH. Tasks only. */
int64_t file_locate(struct group *group, int32_t fd, struct file_place *place);

/* As file_call for any process ID. -ESRCH: there is none, or it has ended. */
int64_t file_call_process(uint32_t id, const struct file_request *request, const void *data, size_t size, void *result,
                          size_t room, struct file_answer *answer);

/* As file_call for the open file at PLACE, on any kernel, without a descriptor. -ESRCH: it has been closed. */
int64_t file_call_at(const struct file_place *place, const struct file_request *request, const void *data, size_t size,
                     void *result, size_t room, struct file_answer *answer);

/* The same; it does not fail for lack of memory if data and result together are at most 200 bytes. The operation itself
 * must need none. */
int64_t file_call_surely(const struct file_place *place, const struct file_request *request, const void *data,
                         size_t size, void *result, size_t room, struct file_answer *answer);

/* The file of FD, with a pin, when both the descriptor table of GROUP and the file are here; else NULL. */
struct file *file_near(struct group *group, int64_t fd);

#endif
