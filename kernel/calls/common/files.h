/* Operations of system calls on descriptors of the current process. Tasks of programs only; all of them may wait. */
#ifndef KERNEL_CALLS_COMMON_FILES_H
#define KERNEL_CALLS_COMMON_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/remote.h"
#include "kernel/ipc/socket/write.h"
#include "tasks/thread/thread.h"

/* An operation of the current process without data. */
static inline int64_t files_do(struct file_request request)
{
    struct file_answer answer;

    return file_call(thread_current()->group, &request, NULL, 0, NULL, 0, &answer);
}

/* files_get_flags returns the open flags of FD, as F_GETFL does; files_seek performs lseek(2); files_close closes a
 * descriptor that has not been used yet, so that it has no locks. */
int64_t files_get_flags(int64_t fd);
static inline int64_t files_seek(int64_t fd, int64_t offset, uint32_t whence)
{
    return files_do((struct file_request){
        .operation = MSG_FILE_SEEK, .fd = (int32_t)fd, .seek = {.offset = offset, .whence = whence}});
}
void files_close(int64_t fd);
/* Returns ERROR if FD is a descriptor; otherwise the error for a bad descriptor, which takes precedence, as
 * in Linux. */
int64_t files_error(int64_t fd, int64_t error);
/* Waits until the file that returned ANSWER with -EAGAIN and FILE_MAY_WAIT may be ready. Returns 0; 1: the file's time
 * limit has expired; -ERESTARTSYS. */
int64_t files_wait(const struct file_answer *answer, const char *why);
/* Returns whether a signal, a move, a stop or the end is due for the current thread. A call of unbounded length then
 * returns what it has done so far, or -ERESTARTSYS. */
bool files_interrupted(void);
/* Called after an operation that removed bytes from a file: waits until no process maps them any more. */
void files_settle(const struct file_answer *answer);
/* file_call with REQUEST, a write or FILE_ALLOCATE of at most FILE_NEW_PAGES_MAX bytes, for a thread whose policy names
 * nodes: the file's new pages are placed by it. When others fill the placed pages first, as where several append, it
 * does so again: for BIND until a signal, -ERESTARTSYS. -ENOSPC, -EDQUOT: not even the first page can be had. */
int64_t files_call_by_policy(const struct file_request *request, const void *data, size_t size,
                             struct file_answer *answer);
/* files_write for such a thread. */
int64_t files_write_by_policy(const struct file_request *request, const void *data, size_t size,
                              struct file_answer *answer);
/* True if the current thread's policy names nodes. */
static inline bool files_by_policy(void)
{
    return thread_current()->context.memory_policy.nodes != 0;
}
/* Performs a write, as file_call does, and sends the writer's credentials along if a socket asks for them
 * (kernel/ipc/socket/write.h). */
static inline int64_t files_write(const struct file_request *request, const void *data, size_t size,
                                  struct file_answer *answer)
{
    struct group *group = thread_current()->group;
    int64_t value;

    if (__builtin_expect(files_by_policy(), 0))
        return files_write_by_policy(request, data, size, answer);
    value = file_call(group, request, data, size, NULL, 0, answer);
    return __builtin_expect(value == -FILE_WHO, 0) ? socket_write_as(group, request->fd, data, size, answer) : value;
}

/* Sends SIGPIPE to the current thread. */
void files_signal_broken_pipe(void);
/* Performs OPERATION (FILE_INSTALL, FILE_SET_DIRECTORY or FILE_SET_ROOT) with the open file at PLACE. The caller owns
 * an open of the file and loses it even on failure. FLAGS: DESCRIPTOR_CLOEXEC. */
int64_t files_give(enum msg_type operation, const struct file_place *place, uint32_t flags);
#define F_GETLK 5u
#define F_SETLK 6u
#define F_SETLKW 7u
#define F_OFD_GETLK 36u
#define F_OFD_SETLK 37u
#define F_OFD_SETLKW 38u
/* Returns whether both descriptors refer to the same node. */
bool files_same(int64_t one, int64_t other);

#endif
