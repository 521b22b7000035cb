/* Permission checks (path_resolution(7), credentials(7)): the mode bits of a file's owner, group and others, for the
 * user of an operation. Pure: no state, no locks. */
#ifndef KERNEL_FILE_PERMISSION_H
#define KERNEL_FILE_PERMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"

struct credentials;

#define MAY_EXECUTE 1u /* of a directory: to search it */
#define MAY_WRITE 2u
#define MAY_READ 4u

#define MODE_SET_USER 04000u
#define MODE_SET_GROUP 02000u
#define MODE_STICKY 01000u
#define MODE_GROUP_EXECUTE 0010u

/* In all functions here USER NULL is root, in group 0 and no other group. */
static inline bool permission_root(const struct file_user *user)
{
    return user == NULL || user->uid == 0;
}

/* 0, or -EACCES: USER may not do all of MAY (MAY_*) with a file of MODE, UID and GID. */
int permission_check(const struct file_user *user, uint32_t mode, uint32_t uid, uint32_t gid, uint32_t may);
/* The set-user-ID and set-group-ID bits that a file of MODE loses when it gets another owner. */
static inline uint32_t permission_lost(uint32_t mode)
{
    return (mode & FILE_TYPE_MASK) != FILE_REGULAR
               ? 0
               : mode & (MODE_SET_USER | ((mode & MODE_GROUP_EXECUTE) != 0 ? MODE_SET_GROUP : 0));
}
/* Is USER in the group GID? */
bool permission_in_group(const struct file_user *user, uint32_t gid);
/* Is USER the owner UID, or root? */
bool permission_owner(const struct file_user *user, uint32_t uid);
/* Does the sticky bit let USER remove or rename an entry that UID owns, in a directory of DIRECTORY_MODE that
 * DIRECTORY_UID owns? */
bool permission_remove(const struct file_user *user, uint32_t directory_mode, uint32_t directory_uid, uint32_t uid);
/* May USER make CHANGE to a file of MODE, UID and GID? A set-group-ID bit that USER may not set is removed from CHANGE.
 * 0, -EPERM, -EACCES. */
int permission_change(const struct file_user *user, uint32_t mode, uint32_t uid, uint32_t gid,
                      struct node_change *change);

/* Fills USER for requests of a thread with CREDENTIALS. Returns how many bytes of it a message needs; 0: the message
 * has no user, as the thread is root with the tree's root. */
size_t permission_user(const struct credentials *credentials, struct file_user *user);
/* Checks and copies a struct file_user of a message, SIZE bytes at DATA. Returns its length, or 0: it is invalid. */
size_t permission_take(const void *data, size_t size, struct file_user *user);

#endif
