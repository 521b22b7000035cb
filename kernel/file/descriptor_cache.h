/* The descriptor cache: for descriptors of a process whose home is another kernel, and for its working directory, it
 * has the open file and that file's kernel. An operation then goes straight to that kernel, or is done here, without
 * asking the home.
 *
 * A home has counts that all kernels read without a message (msg_board_of). A table's count is incremented whenever one
 * of its descriptors may refer to another file, and another count when its working directory does, before the call that
 * changed it returns. A kernel caches the home's answer with the count at that time, and uses it as long as the count
 * is the same. kernel/file/files.md has the protocol. */
#ifndef KERNEL_FILE_DESCRIPTOR_CACHE_H
#define KERNEL_FILE_DESCRIPTOR_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/wire.h"

/* --- the home; any context --- */

/* Returns a count for a table's descriptors; several tables may share it. */
uint16_t descriptor_cache_count_new(void);
/* Descriptors of tables that have COUNT were closed or replaced, or their rights were reduced. Called under the lock
 * under which descriptors are looked up, so a lookup that finds the new descriptor finds the new count. */
void descriptor_cache_changed(uint16_t count);
/* The count and its index in one word, for the answer FILE_ELSEWHERE. Read before the descriptor is looked up. */
uint64_t descriptor_cache_stamp(uint16_t count);

/* --- the asking kernel --- */

/* Finds the file that REQUEST, for a descriptor of process GROUP whose home is the other kernel HOME, can be sent to
 * directly. False: nothing valid is cached, and HOME has to be asked. */
bool descriptor_cache_find(uint32_t group, uint32_t home, const struct file_request *request, struct file_place *out);
/* Finds the file of FD, which may be FILE_WORKING_DIRECTORY, to begin a name there, as FILE_LOCATE does. */
bool descriptor_cache_locate(uint32_t group, uint32_t home, int32_t fd, struct file_place *out);
/* HOME has answered FILE_ELSEWHERE, or FILE_LOCATE of FD alone: the file is at PLACE. Caches that, if ANSWER says that
 * it may be cached. */
void descriptor_cache_note(uint32_t group, uint32_t home, int32_t fd, const struct file_place *place,
                           const struct file_answer *answer);
/* The file that was cached for FD has been closed. */
void descriptor_cache_forget(uint32_t group, int32_t fd);
/* Empties the cache, while programs are quiesced: files and processes are moving to other kernels. */
void descriptor_cache_forget_all(void);

#endif
