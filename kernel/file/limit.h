/* RLIMIT_FSIZE: how long a process's writes may make a file. The home of a process with a limit does not do requests
 * that may make a file longer, but answers with the limit (FILE_LIMITED_SIZE); the caller sends the request, with the
 * limit, to the file's kernel (FILE_LIMITED). For processes without a limit this costs nothing. The limit applies to
 * regular files only. */
#ifndef KERNEL_FILE_LIMIT_H
#define KERNEL_FILE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

struct file;
struct file_answer;

/* FILE_LIMITED on FILE: SIZE bytes at DATA are a struct file_limited with the data of its request. A write is done up
 * to the limit. REFUSED is for that request. -EFBIG, with FILE_LIMITED_SIZE in ANSWER: the limit leaves no byte to
 * write. */
int64_t file_limit_do(struct file *file, uint8_t refused, const void *data, size_t size, struct file_answer *answer);
/* For the VALUE and ANSWER of an operation: sends SIGXFSZ to the current thread if the limit was the reason of an
 * error. */
void file_limit_notify(int64_t value, const struct file_answer *answer);
/* Checks a length of BYTES against the limit, for an operation without a descriptor. 0; -EFBIG, and SIGXFSZ is sent.
 * Waits for the home. */
int64_t file_limit_check(uint64_t bytes);

#endif
