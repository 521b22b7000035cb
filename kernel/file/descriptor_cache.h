/* What a kernel knows of descriptors of processes at home elsewhere: which open file of which kernel each is. So an
 * operation goes to that kernel, or is done here, without asking the home again.
 *
 * A home has counts that all kernels read without a message (msg_board_of): that of a table goes up whenever what one
 * of its descriptors is may have changed, before the call that changed it returns. Whoever has asked keeps the answer
 * with the count of that time, and believes it as long as the count is the same. kernel/file/files.md has the protocol.
 */
#ifndef KERNEL_FILE_DESCRIPTOR_CACHE_H
#define KERNEL_FILE_DESCRIPTOR_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/wire.h"

/* --- the home; any context --- */

/* A count for a table's descriptors; others may have the same. */
uint16_t known_count_new(void);
/* Descriptors of tables that have COUNT were closed or replaced, or may do less than before. Under the lock under which
 * descriptors are found, so whoever finds the new one finds the new count. */
void descriptor_cache_changed(uint16_t count);
/* For the answer FILE_ELSEWHERE: read before the descriptor is looked for. */
uint64_t descriptor_cache_stamp(uint16_t count);

/* --- who asks --- */

/* Where to ask for what is wanted of descriptor FD of process GROUP, at home on HOME, another kernel. False: HOME. */
bool descriptor_cache_find(uint32_t group, uint32_t home, const struct file_request *request, struct file_place *out);
/* HOME has answered ELSEWHERE to REQUEST. */
void descriptor_cache_note(uint32_t group, uint32_t home, const struct file_request *request,
                           const struct file_answer *answer);
/* That file has been closed. */
void descriptor_cache_forget(uint32_t group, int32_t fd);
/* Programs are quiesced: files and processes go to other kernels. */
void known_forget_all(void);

#endif
