/* Shares: directories of the host in the tree of files, served by a 9P server behind a virtio device. The boot option
 * share= names them: tools/kettle run --share. All code runs in tasks of kernel 0, because it waits for the server.
 * Names and attributes are not cached: the host may change them at any time. kernel/fs/share/share.md has the protocol.
 */
#ifndef KERNEL_FS_SHARE_SHARE_H
#define KERNEL_FS_SHARE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_user;
struct msg_file_name;
struct tree_result;
struct text;

#define SHARE_DEVICES 0x40u    /* st_dev of the first share; the others follow */
#define V9FS_MAGIC 0x01021997u /* f_type of statfs */

/* If the boot option names shares: finds the devices. Called on kernel 0's boot CPU, before it starts any other CPU
 * (virtio_9p_start says why). */
void share_find_devices(void);
/* Connects and mounts the shares of the boot option. A share that fails is reported in an event and left out. Called in
 * the first task of kernel 0, before programs run. */
void share_start(void);

/* As tree_do, for names that lead into a share or any others, but may wait. Tasks of kernel 0 only. */
int64_t share_do(const struct msg_file_name *asked, const struct file_user *user, const char *first, const char *second,
                 struct tree_result *result);

/* Appends, for each mounted share, a line of /proc/mounts, or with INFO of /proc/PID/mountinfo. Any context of kernel
 * 0. */
void share_list(struct text *text, bool info);

#endif
