/* Extended attributes (xattr(7)) of nodes: those of root and of security modules, as Linux's tmpfs has them (until 6.6
 * it has none of users, EOPNOTSUPP). They are kernel 0's own memory, go with the node, and are bounded for each node.
 * Nothing here waits. */
#ifndef KERNEL_FS_NODE_ATTRIBUTE_H
#define KERNEL_FS_NODE_ATTRIBUTE_H

#include <stddef.h>
#include <stdint.h>

struct file;
struct file_request;
struct node;

#define ATTRIBUTE_NAME_MAX 255u
#define ATTRIBUTE_SIZE_MAX 65536u                                   /* of a value, as Linux's XATTR_SIZE_MAX */
#define ATTRIBUTE_MESSAGE_MAX (FILE_CHUNK - ATTRIBUTE_NAME_MAX - 1) /* of a value that can be kept here */
#define ATTRIBUTES_MAX 131072u                                      /* bytes of all names and values of a node */
#define ATTRIBUTE_CREATE 1u                                         /* as XATTR_CREATE: it must not be there */
#define ATTRIBUTE_REPLACE 2u                                        /* as XATTR_REPLACE: it must be there */

/* What FILE_ATTRIBUTE does. */
enum attribute_operation {
    ATTRIBUTE_GET = 1, /* data: name; result data: the value, if there is room: else -ERANGE; with no room its size */
    ATTRIBUTE_SET,     /* data: name with its NUL, value */
    ATTRIBUTE_LIST,    /* result data: names with their NULs, as GET */
    ATTRIBUTE_TAKE     /* data: name */
};

/* FILE_ATTRIBUTE on FILE. -ENODATA, -EEXIST, -ERANGE, -ENOSPC, -EOPNOTSUPP: FILE has no node. */
int64_t attribute_do(const struct file *file, const struct file_request *request, const void *data, size_t size,
                     void *result, size_t room);
/* NODE goes. */
void attributes_free(struct node *node);

#endif
