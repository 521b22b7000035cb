/* RLIMIT_FSIZE: how long a file may get by what a process writes. The process's home knows the limit and sends what it
 * concerns back to the caller, who asks the file's kernel with the limit (FILE_LIMITED); without a limit nothing is
 * different. Only regular files have one. */
#ifndef KERNEL_FILE_LIMIT_H
#define KERNEL_FILE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

struct file;
struct file_answer;

/* FILE_LIMITED on FILE: SIZE bytes at DATA are a struct file_limited with the data of its request. A write is done up
 * to the limit; -EFBIG, and ANSWER has FILE_LIMITED_SIZE: nothing is left to be done. */
int64_t file_limit_do(struct file *file, const void *data, size_t size, struct file_answer *answer);
/* After an answer: SIGXFSZ for the current thread, if the limit was the reason. */
void file_limit_tell(int64_t value, const struct file_answer *answer);
/* The same for who has asked without a descriptor: 0, or -EFBIG and the signal. Waits for the home. */
int64_t file_limit_check(uint64_t bytes);

#endif
