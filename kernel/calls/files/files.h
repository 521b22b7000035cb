/* What the system calls on files share. */
#ifndef KERNEL_CALLS_FILES_FILES_H
#define KERNEL_CALLS_FILES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/remote.h"
#include "kernel/fs/name/name.h"

struct call;

/* An operation of the current process without data. */
int64_t files_simple(uint32_t operation, int64_t fd, int64_t argument, uint32_t extra);
/* ERROR, unless FD is no descriptor: that comes first, as in Linux. */
int64_t files_error(int64_t fd, int64_t error);
/* Waits until the file of ANSWER, which was -EAGAIN with FILE_MAY_WAIT, may be ready. 0; 1: the time that the file
 * allows is over; -ERESTARTSYS. */
int64_t files_wait(const struct file_answer *answer, const char *why);
/* A signal, a move, a stop or the end waits for the current thread: a call that might go on and on ends, with what it
 * has done, or -ERESTARTSYS. */
bool files_interrupted(void);
/* After an operation that takes bytes out of a file: waits until nobody maps them any more. */
void files_settle(const struct file_answer *answer);
/* SIGPIPE for the current thread. */
void files_signal_broken_pipe(void);
/* A descriptor with FLAGS (DESCRIPTOR_CLOEXEC) for the open file at PLACE, whose open is the caller's, and is gone then
 * in any case. */
int64_t files_install(const struct file_place *place, uint32_t flags);
#define F_GETLK 5u
#define F_SETLK 6u
#define F_SETLKW 7u
#define F_OFD_GETLK 36u
#define F_OFD_SETLK 37u
#define F_OFD_SETLKW 38u
/* fcntl's commands for locks; ADDRESS: of a struct flock. */
int64_t files_lock(int64_t fd, uint32_t command, uint64_t address);
/* Nobody else can close the caller's descriptors meanwhile. False also when only the home would know. */
bool files_alone(void);
/* Both descriptors are open files of the same node. */
bool files_same(int64_t one, int64_t other);
/* A copy of the path at user address PATH, on the heap, to be freed with PATH_MAX; or NULL and *ERROR. */
char *files_path(uint64_t path, int64_t *error);
/* Does ASKED with the path at user address PATH, which begins at DIRECTORY, and for two names the other one. */
int64_t files_name(const struct msg_file_name *asked, int64_t directory, uint64_t path, struct name_result *result);
/* MODE without what the process does not give (umask(2)). Asks the home. */
uint32_t files_mode(uint32_t mode);
/* Does PATH at user address hold an empty string? */
bool files_empty(uint64_t path);
/* FLAGS of a call, AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH, as NAME_*. */
#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_REMOVEDIR 0x200u
#define AT_SYMLINK_FOLLOW 0x400u
#define AT_EMPTY_PATH 0x1000u
uint32_t files_flags(uint32_t flags);

/* restart_syscall(2) of a write that was interrupted halfway. */
int64_t files_write_again(struct call *c);

#endif
