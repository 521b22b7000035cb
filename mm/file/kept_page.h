/* FILE_PAGE requests that a file's kernel keeps: the page moves, or its frame is another kernel's, which has to count
 * the reference first. mm/file/file_map.md. */
#ifndef MM_FILE_KEPT_PAGE_H
#define MM_FILE_KEPT_PAGE_H

#include "mm/file/object.h"
#include "mm/file/wire.h"
#include "msg/channel.h"

/* What ASK wants; *WHERE, which the result may point to, is set. */
struct file_want file_page_want(const struct msg_file_page *ask, struct placement *where);
/* Finds or makes the page that ASK asks for, from the frame that it has along if the page still lacks one: 0, and the
 * *ANSWER. Errors as for file_object_page, but never -EXDEV; -EPROTO: there is no such frame. -EAGAIN, 1: nothing has
 * been counted; for 1 ANSWER->frame is the other kernel's frame. */
int file_page_find(const struct msg_file_page *ask, struct msg_file_paged *answer);

/* M is ASK: answers it, now or later. Called by the handler. */
void file_page_keep(const struct msg *m, const struct msg_file_page *ask);

#endif
