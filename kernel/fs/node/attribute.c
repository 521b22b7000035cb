/* Extended attributes. See the header. */
#include "kernel/fs/node/attribute.h"

#include <stdbool.h>

#include "kernel/abi/errno.h"
#include "kernel/file/wire.h"
#include "kernel/fs/node/node.h"
#include "kernel/fs/node/notify.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

struct attribute {
    struct attribute *next; /* [n] node->lock */
    size_t name_size;       /* [i] with the NUL */
    size_t size;            /* [i] of the value */
    char bytes[];           /* [i] name, value */
};

static size_t size_of(const struct attribute *attribute)
{
    return sizeof(*attribute) + attribute->name_size + attribute->size;
}

/* The link that points to the attribute NAME, or the end of the list. */
static struct attribute **find_locked(struct node *node, const char *name)
{
    struct attribute **at = &node->attributes;

    while (*at != NULL && strcmp((*at)->bytes, name) != 0)
        at = &(*at)->next;
    return at;
}

static int64_t get(struct node *node, const char *name, void *result, size_t room)
{
    const struct attribute *found;
    int64_t value = -ENODATA;

    spin_lock(&node->lock);
    found = *find_locked(node, name);
    if (found != NULL) {
        value = room != 0 && found->size > room ? -ERANGE : (int64_t)found->size;
        if (room != 0 && value > 0)
            memcpy(result, found->bytes + found->name_size, found->size);
    }
    spin_unlock(&node->lock);
    return value;
}

static int64_t list(struct node *node, bool all, void *result, size_t room)
{
    static const char trusted[] = "trusted.";
    uint8_t *to = result;
    int64_t done = 0;

    spin_lock(&node->lock);
    for (const struct attribute *a = node->attributes; a != NULL && done >= 0; a = a->next) {
        if (!all && strncmp(a->bytes, trusted, sizeof(trusted) - 1) == 0)
            continue;
        if (room != 0 && a->name_size > room - (size_t)done) {
            done = -ERANGE;
            break;
        }
        if (room != 0)
            memcpy(to + done, a->bytes, a->name_size);
        done += (int64_t)a->name_size;
    }
    spin_unlock(&node->lock);
    return done;
}

/* Replaces the attribute NAME by NEW, or removes it if NEW is NULL. */
static int64_t replace(struct node *node, const char *name, struct attribute *new, uint32_t flags)
{
    struct attribute *old, **at;
    uint64_t bytes = new != NULL ? new->name_size + new->size : 0;
    int64_t more;
    int64_t error = 0;

    spin_lock(&node->lock);
    at = find_locked(node, name);
    old = *at;
    if (old != NULL && (flags & ATTRIBUTE_CREATE) != 0)
        error = -EEXIST;
    else if (old == NULL && (flags & ATTRIBUTE_REPLACE) != 0)
        error = -ENODATA;
    else if (node->attribute_bytes + bytes - (old != NULL ? old->name_size + old->size : 0) > ATTRIBUTES_MAX)
        error = -ENOSPC;
    if (error == 0) {
        more = (int64_t)(new != NULL ? size_of(new) : 0) - (int64_t)(old != NULL ? size_of(old) : 0);
        error = node_charge_locked(node, more);
    }
    if (error == 0) {
        node->attribute_bytes += bytes;
        if (old != NULL) {
            node->attribute_bytes -= old->name_size + old->size;
            *at = old->next;
        }
        if (new != NULL) { /* a replaced attribute keeps its position in the list, a new one becomes the first */
            if (old == NULL)
                at = &node->attributes;
            new->next = *at;
            *at = new;
        }
        node_status_changed_locked(node);
    }
    spin_unlock(&node->lock);
    if (error == 0)
        inotify_node(node, WATCH_ATTRIB);
    if (error == 0)
        new = old;
    if (new != NULL)
        heap_free(new, size_of(new));
    return error;
}

static int64_t set(struct node *node, const char *name, const void *value, size_t size, uint32_t flags)
{
    size_t name_size = strlen(name) + 1;
    struct attribute *new = heap_alloc(sizeof(*new) + name_size + size);

    if (new == NULL)
        return -ENOSPC;
    new->name_size = name_size;
    new->size = size;
    memcpy(new->bytes, name, name_size);
    memcpy(new->bytes + name_size, value, size);
    return replace(node, name, new, flags);
}

int64_t attribute_do(const struct file *file, const struct file_request *request, const void *data, size_t size,
                     void *result, size_t room)
{
    struct node *node = file_node(file);
    const char *name = data;
    uint32_t what = request->attribute.what;
    size_t length;

    if (what == ATTRIBUTE_LIST)
        return node != NULL ? list(node, request->attribute.trusted != 0, result, room) : 0;
    length = strnlen(name, size);
    if (length == size || length == 0 || length > ATTRIBUTE_NAME_MAX)
        return -EPROTO;
    if (node == NULL)
        return -EOPNOTSUPP;
    switch (what) {
    case ATTRIBUTE_GET:
        return get(node, name, result, room);
    case ATTRIBUTE_SET:
        return set(node, name, name + length + 1, size - length - 1, request->attribute.flags);
    case ATTRIBUTE_TAKE:
        return replace(node, name, NULL, ATTRIBUTE_REPLACE);
    default:
        return -EPROTO;
    }
}

void attributes_free(struct node *node)
{
    while (node->attributes != NULL) {
        struct attribute *first = node->attributes;

        node->attributes = first->next;
        heap_free(first, size_of(first));
    }
}
