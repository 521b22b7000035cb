/* Shares: directories of the host in the tree of files, by way of a 9P server behind a virtio device. The boot option
 * share= says which and where: tools/kettle run --share. All of it is kernel 0's, done by tasks, as the server has to
 * be waited for. Nothing is remembered of names and attributes: the host may change them at any time.
 * kernel/fs/share/share.md has the protocol. */
#ifndef KERNEL_FS_SHARE_SHARE_H
#define KERNEL_FS_SHARE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_user;
struct msg_file_name;
struct tree_result;
struct text;

#define SHARE_DEVICES 0x40u    /* st_dev of what is in shares: from this on */
#define V9FS_MAGIC 0x01021997u /* statfs */

/* Connects what the boot option names. What cannot be had is said in an event, and left out. In the first task of
 * kernel 0, before programs run. */
void share_start(void);

/* As tree_do, for names that lead into a share, and for any other: it may wait. Tasks of kernel 0 only. */
int64_t share_do(const struct msg_file_name *asked, const struct file_user *user, const char *first, const char *second,
                 struct tree_result *result);

/* Appends a line of /proc/mounts for each share that is mounted, or of /proc/PID/mountinfo. Any context of kernel 0. */
void share_list(struct text *text, bool info);

#endif
