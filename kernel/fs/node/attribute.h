/* Extended attributes (xattr(7)) of nodes: those of root and of security modules, as in Linux's tmpfs, which has no
 * user attributes before 6.6 (EOPNOTSUPP). They live in kernel 0's memory, are freed with the node, and their size is
 * bounded for each node. Nothing here waits. */
#ifndef KERNEL_FS_NODE_ATTRIBUTE_H
#define KERNEL_FS_NODE_ATTRIBUTE_H

#include <stddef.h>
#include <stdint.h>

struct file;
struct file_request;
struct node;

#define ATTRIBUTE_NAME_MAX 255u
#define ATTRIBUTE_SIZE_MAX 65536u                                   /* length of a value, as Linux's XATTR_SIZE_MAX */
#define ATTRIBUTE_MESSAGE_MAX (FILE_CHUNK - ATTRIBUTE_NAME_MAX - 1) /* length of a value that fits in a message */
#define ATTRIBUTES_MAX 131072u                                      /* of all names and values of a node */
#define ATTRIBUTE_CREATE 1u                                         /* as XATTR_CREATE: the attribute must not exist */
#define ATTRIBUTE_REPLACE 2u                                        /* as XATTR_REPLACE: the attribute must exist */

/* Operations of FILE_ATTRIBUTE. */
enum attribute_operation {
    ATTRIBUTE_GET = 1, /* data: name; result: the value, or -ERANGE if it does not fit; with no room, its length */
    ATTRIBUTE_SET,     /* data: name with its NUL, value */
    ATTRIBUTE_LIST,    /* result: names with their NULs; room as for GET */
    ATTRIBUTE_TAKE     /* data: name */
};

/* Performs FILE_ATTRIBUTE on FILE. A FILE without a node has an empty list. -ENODATA, -EEXIST, -ERANGE, -ENOSPC,
 * -EPROTO; -EOPNOTSUPP: FILE has no node. */
int64_t attribute_do(const struct file *file, const struct file_request *request, const void *data, size_t size,
                     void *result, size_t room);
/* Frees the attributes of NODE, which is being freed. */
void attributes_free(struct node *node);

#endif
