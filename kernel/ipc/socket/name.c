/* Names of sockets. Abstract names begin with a zero byte and are in no directory. For names in the tree of files the
 * caller has found or made a node. Both are resolved to sockets only here. */
#include "kernel/abi/errno.h"
#include "kernel/fs/node/node.h"
#include "kernel/ipc/socket/internal.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"

#define CHOSEN 0x100000u /* names that the kernel can choose: five hexadecimal digits */

static struct list names = {&names, &names}; /* [l] struct socket */
static uint32_t last_chosen;                 /* [l] */

static struct socket *find(uint32_t type, const uint8_t *name, uint32_t size)
{
    list_for_each(node, &names) {
        struct socket *socket = container_of(node, struct socket, name_node);

        if (socket->type == type && socket->name_size == size && memcmp(socket->name, name, size) == 0)
            return socket;
    }
    return NULL;
}

static bool is_in_tree(const uint8_t *name, uint32_t size)
{
    return size != 0 && name[0] != 0;
}

static struct socket *find_node(uint64_t number)
{
    list_for_each(node, &names) {
        struct socket *socket = container_of(node, struct socket, name_node);

        if (socket->node != NULL && socket->node->number == number)
            return socket;
    }
    return NULL;
}

int socket_name_find(uint32_t type, const uint8_t *name, uint32_t size, uint64_t node, struct socket **out)
{
    if (is_in_tree(name, size)) {
        *out = find_node(node);
        return *out == NULL ? -ECONNREFUSED : (*out)->type != type ? -EPROTOTYPE : 0;
    }
    if (size == 0)
        return -ENOENT;
    *out = find(type, name, size);
    return *out != NULL ? 0 : -ECONNREFUSED;
}

int socket_name_bind(struct socket *socket, const uint8_t *name, uint32_t size, uint64_t node)
{
    uint8_t chosen[8] = {0};

    for (uint32_t tries = 0; size == 0 && tries < CHOSEN; tries++) {
        snprintf((char *)chosen + 1, sizeof(chosen) - 1, "%05x", ++last_chosen % CHOSEN);
        if (find(socket->type, chosen, 6) == NULL) {
            name = chosen;
            size = 6;
        }
    }
    if (size == 0)
        return -ENOSPC;
    if (is_in_tree(name, size) ? find_node(node) != NULL : find(socket->type, name, size) != NULL)
        return -EADDRINUSE;
    socket->node = is_in_tree(name, size) ? node_find(node) : NULL;
    if (is_in_tree(name, size) && socket->node == NULL)
        return -ENOENT;
    memcpy(socket->name, name, size);
    socket->name_size = size;
    list_append(&names, &socket->name_node);
    return 0;
}
