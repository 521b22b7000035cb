/* FILE_PAGE requests that a file's kernel keeps: the page moves, or its frame is another kernel's, which has to count
 * the reference first. mm/file/file_map.md. */
#ifndef MM_FILE_KEPT_PAGE_H
#define MM_FILE_KEPT_PAGE_H

#include "mm/file/object.h"
#include "mm/file/wire.h"
#include "msg/channel.h"

/* What ASK wants; *WHERE, which the result may point to, is set. */
struct file_want file_page_want(const struct msg_file_page *ask, struct placement *where);
/* The answer after -EXDEV, with what WANT has then. */
struct msg_file_paged file_page_elsewhere(const struct file_want *want);

/* M is ASK: answers it, now or later. Called by the handler. */
void file_page_keep(const struct msg *m, const struct msg_file_page *ask);

#endif
