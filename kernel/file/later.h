/* Requests of other kernels that may wait: their handler keeps them, and a worker does and answers them. */
#ifndef KERNEL_FILE_LATER_H
#define KERNEL_FILE_LATER_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/file/file.h"
#include "tasks/remote/work.h"

/* A message that was kept. */
struct later {
    struct work work;
    struct msg_kept kept;
    struct file *file; /* FILE_CALL's */
    size_t size;       /* of this, the message and the answer */
    uint32_t length;   /* of the message */
    uint8_t *answer;   /* behind the message */
    uint64_t message[];
};

/* Keeps M with ROOM bytes for its answer, to be done by a worker; NULL: there was no memory, and M is answered. */
struct later *later_keep(const struct msg *m, size_t room);
/* SIZE bytes at LATER->answer are the answer; LATER goes. */
void later_answer(struct later *later, size_t size);

/* In the handler of FILE_CALL M, which has been checked: it is done on FILE, whose pin goes along. */
void file_later(const struct msg *m, struct file *file);

#endif
