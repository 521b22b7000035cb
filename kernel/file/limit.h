/* RLIMIT_FSIZE: how long a process's writes may make a file. The process's home knows the limit and sends requests that
 * it concerns back to the caller, which sends them with the limit to the file's kernel (FILE_LIMITED). Processes
 * without a limit pay nothing. The limit holds for regular files only. */
#ifndef KERNEL_FILE_LIMIT_H
#define KERNEL_FILE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

struct file;
struct file_answer;

/* FILE_LIMITED on FILE: SIZE bytes at DATA are a struct file_limited with the data of its request. A write is done up
 * to the limit. -EFBIG, with FILE_LIMITED_SIZE in ANSWER: the limit leaves no byte to write. */
int64_t file_limit_do(struct file *file, const void *data, size_t size, struct file_answer *answer);
/* After an answer: SIGXFSZ for the current thread, if the limit was the reason. */
void file_limit_tell(int64_t value, const struct file_answer *answer);
/* The same for a caller that uses no descriptor: 0, or -EFBIG and the signal. Waits for the home. */
int64_t file_limit_check(uint64_t bytes);

#endif
