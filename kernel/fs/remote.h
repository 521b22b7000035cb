/* File operations of a group from any kernel: done here when this is the group's home, else by a worker there. */
#ifndef KERNEL_FS_REMOTE_H
#define KERNEL_FS_REMOTE_H

#include <stddef.h>
#include <stdint.h>

struct group;

#define FILE_CHUNK 2048u /* bytes of data that one operation moves at most */

enum file_operation {
    FILE_OPEN = 1,  /* data: path with its NUL; argument: flags */
    FILE_CLOSE,     /* fd */
    FILE_READ,      /* fd, argument: bytes; result data */
    FILE_WRITE,     /* fd, data */
    FILE_SEEK,      /* fd, argument: offset, extra: whence */
    FILE_STAT,      /* fd; result data: struct file_facts */
    FILE_STAT_PATH, /* data: path; result data: struct file_facts */
    FILE_TERMINAL,  /* fd */
    FILE_FLAGS      /* fd */
};

struct file_request {
    uint32_t operation;
    uint32_t extra;
    int64_t fd;
    int64_t argument;
};

void remote_init(void);

/* Does REQUEST for GROUP with SIZE bytes of DATA (at most FILE_CHUNK); result data goes to RESULT (ROOM bytes, at most
 * FILE_CHUNK). Returns what the operation returns. Tasks only. */
int64_t file_call(struct group *group, const struct file_request *request, const void *data, size_t size, void *result,
                  size_t room);

#endif
