/* Operations of no descriptor and no file (FILE_SERVICE_FIRST to FILE_SERVICE_LAST of wire.h), which kernel 0 does for
 * all: what is known only there. The room that can do one registers it; remote.h asks. */
#ifndef KERNEL_FILE_SERVICE_H
#define KERNEL_FILE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"

/* SERVE does OPERATION as file_do does one on a file, and waits for nothing; ANSWER is empty before. Once for each, on
 * every kernel. */
void service_register(enum file_operation operation,
                      void (*serve)(const struct file_request *request, const void *data, size_t size, void *result,
                                    size_t room, struct file_answer *answer));
bool service_has(uint32_t operation);
/* -EPROTO: this is not kernel 0, or nobody does it. */
void service_do(const struct file_request *request, const void *data, size_t size, void *result, size_t room,
                struct file_answer *answer);

#endif
