/* Operations on descriptors, from any kernel. What concerns the descriptor table is done at the group's home, what
 * concerns one file on the file's kernel: by a plain call when that is here, else by FILE_CALL, whose handler does it
 * at once, as no operation waits. kernel/file/files.md has the protocol. */
#ifndef KERNEL_FILE_REMOTE_H
#define KERNEL_FILE_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/file/wire.h"

struct group;

void remote_init(void);

/* Does REQUEST for GROUP with SIZE bytes of DATA (at most FILE_CHUNK); result data goes to RESULT (ROOM bytes, at most
 * FILE_CHUNK). Returns what the operation returns; ANSWER has more, see FILE_MAY_WAIT. Tasks only. */
int64_t file_call(struct group *group, const struct file_request *request, const void *data, size_t size, void *result,
                  size_t room, struct file_answer *answer);

/* The same for any process ID, of the caller or not. -ESRCH: there is none, or it has ended. */
int64_t file_call_process(uint32_t id, const struct file_request *request, const void *data, size_t size, void *result,
                          size_t room, struct file_answer *answer);

/* The same for the file at PLACE, on any kernel, whoever has it open. -ESRCH: nobody. */
int64_t file_call_at(const struct file_place *place, const struct file_request *request, const void *data, size_t size,
                     void *result, size_t room, struct file_answer *answer);

/* A new file without a name, on kernel 0, with an open that is the caller's: *ID. FLAGS: NAMELESS_* of
 * kernel/fs/node/regular.h. -ENOMEM. Tasks only. */
int64_t file_create_nameless(uint32_t flags, uint64_t *id);

/* Does REQUEST on FILE, which is of this kernel and pinned. Any context; of a kind that waits: tasks only, but for
 * FILE_LOCK. */
int64_t file_do(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                size_t room, struct file_answer *answer);

/* Bytes of result data. */
size_t file_result_size(const struct file_request *request, const struct file_answer *answer, size_t room);

/* The file of FD, with a pin, when both the descriptor table of GROUP and the file are here; else NULL. */
struct file *file_near(struct group *group, int64_t fd);
/* SIZE bytes at FILE's offset (or at AT, when that is not negative) of a kind that is seekable: sets *FROM to them, and
 * *OFFSET to where they are, and returns how many there are. */
int64_t file_peek(struct file *file, size_t size, int64_t at, uint64_t *offset, const void **from);
/* COUNT bytes at FILE's offset have been read, if that still is OFFSET: it moves on. False: it is another by now. */
bool file_advance(struct file *file, uint64_t offset, uint64_t count);

/* Asks kernel 0: kernel/ipc/sysv/ipc.h. Tasks only; waits for the answer. */
int64_t file_call_ipc(const void *data, size_t size, void *result, size_t room, struct file_answer *answer);
/* PROCESS has ended: what it did to semaphores, and asked to be undone, is. Tasks only; waits. */
void file_undo_semaphores(uint32_t process);

#endif
