/* System calls on sockets, except those that send and receive messages (socket_send.c, socket_receive.c). */
#include "kernel/calls/ipc/socket.h"

#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/anonymous.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/path.h"
#include "kernel/calls/common/socket.h"
#include "kernel/calls/files/files.h"
#include "kernel/file/copy.h"
#include "kernel/file/permission.h"
#include "kernel/fs/name/name.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/user/user_copy.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define AF_UNSPEC 0u
#define AF_UNIX 1u
#define AF_MOST 46u
#define TYPE_MASK 0xfu
#define SOCK_RAW 3u
#define SOL_SOCKET 1
#define FAMILY_SIZE 2u
#define ADDRESS_MOST 128 /* struct sockaddr_storage */
#define OPTION_MOST 16u  /* bytes */

/* Performs CALL, which has no data and no result but 0 or an error. */
static int64_t simple(int64_t fd, struct socket_call *call)
{
    struct socket_result result;
    struct file_answer answer;

    return socket_do(fd, call, sizeof(*call), &result, sizeof(result), false, "a socket", &answer);
}

int64_t socket_read_name(uint64_t address, uint32_t size, struct socket_call *call)
{
    uint8_t bytes[ADDRESS_MOST];
    uint16_t family;

    if ((int32_t)size < 0 || size > ADDRESS_MOST)
        return -EINVAL;
    if (user_read(bytes, address, size) != 0)
        return -EFAULT;
    if (size < FAMILY_SIZE || size > FAMILY_SIZE + SOCKET_NAME_MAX)
        return -EINVAL;
    memcpy(&family, bytes, sizeof(family));
    if (family != AF_UNIX)
        return -EINVAL;
    call->named = 1;
    call->name_size = size - FAMILY_SIZE;
    memcpy(call->name, bytes + FAMILY_SIZE, call->name_size);
    if (call->name_size > 0 && call->name[0] != 0)
        call->name_size = (uint32_t)strnlen((const char *)call->name, call->name_size);
    return 0;
}

int64_t socket_find_node(struct socket_call *call, bool make)
{
    struct msg_file_name asked = {.operation = MSG_NAME_CREATE};
    struct group *group = thread_current()->group;
    char path[SOCKET_NAME_MAX + 1];
    struct name name = {NAME_WORKING_DIRECTORY, path};
    struct name_result result;
    struct file_facts facts;
    struct file_user user;
    size_t user_size;
    int64_t error = 0;

    if (call->name_size == 0 || call->name[0] == 0)
        return 0;
    memcpy(path, call->name, call->name_size);
    path[call->name_size] = '\0';
    if (make) {
        asked.mode = FILE_SOCKET | files_mode(0777);
        error = name_do(group, &asked, &name, NULL, &result);
        name_result_free(&result);
    }
    if (error == 0)
        error = name_stat(group, &name, make ? NAME_NO_FOLLOW : 0, &facts);
    if (error != 0)
        return error == -EEXIST ? -EADDRINUSE : error;
    user_size = permission_user(&thread_current()->context.credentials, &user);
    if (!make && permission_check(user_size != 0 ? &user : NULL, facts.mode, facts.uid, facts.gid, MAY_WRITE) != 0)
        return -EACCES;
    if ((facts.mode & FILE_TYPE_MASK) != FILE_SOCKET)
        return -ECONNREFUSED;
    call->node = facts.inode;
    return 0;
}

/* Removes the path that was created for a socket whose bind then failed. */
static void remove_name(const struct socket_call *call)
{
    struct msg_file_name asked = {.operation = MSG_NAME_UNLINK};
    char path[SOCKET_NAME_MAX + 1];
    struct name name = {NAME_WORKING_DIRECTORY, path};
    struct name_result result;

    memcpy(path, call->name, call->name_size);
    path[call->name_size] = '\0';
    name_do(thread_current()->group, &asked, &name, NULL, &result);
    name_result_free(&result);
}

int64_t socket_write_name(uint64_t address, uint32_t *room, const struct socket_result *result)
{
    uint8_t bytes[FAMILY_SIZE + SOCKET_NAME_MAX + 1] = {AF_UNIX, 0};
    bool path = result->name_size > 0 && result->name[0] != 0; /* a path is returned with its NUL */
    uint32_t size = FAMILY_SIZE + result->name_size + (path ? 1 : 0), part = size < *room ? size : *room;

    memcpy(bytes + FAMILY_SIZE, result->name, result->name_size);
    if (user_write(address, bytes, part) != 0)
        return -EFAULT;
    *room = size;
    return 0;
}

/* --- files --- */

void socket_drop(const struct file_place *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        file_drop(places[i].kernel, places[i].id);
}

int64_t socket_share(const int32_t *fds, uint32_t count, struct file_place *places)
{
    int64_t error = anonymous_locate(fds, count, places);

    for (uint32_t i = 0; i < count && error == 0; i++) {
        if (places[i].id != 0 && file_share_at(&places[i]) == 0)
            continue;
        socket_drop(places, i);
        error = -EBADF;
    }
    return error;
}

uint32_t socket_install(const struct file_place *places, uint32_t count, uint32_t flags, int32_t *fds, int64_t *error)
{
    uint32_t done = 0;

    *error = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t fd = *error;

        if (fd == 0)
            fd = files_give(MSG_FILE_INSTALL, &places[i], flags);
        else
            socket_drop(&places[i], 1);
        if (fd < 0)
            *error = fd;
        else
            fds[done++] = (int32_t)fd;
    }
    return done;
}

/* --- creating and naming --- */

/* Checks the arguments of socket and socketpair in Linux's order, and splits TYPE into KIND and FLAGS. */
static int64_t check_kind(uint32_t family, uint32_t type, int32_t protocol, uint32_t *kind, uint32_t *flags)
{
    *flags = type & ~TYPE_MASK;
    *kind = type & TYPE_MASK;
    if ((*flags & ~(OPEN_NONBLOCK | OPEN_CLOEXEC)) != 0)
        return -EINVAL;
    if (family >= AF_MOST)
        return -EAFNOSUPPORT;
    if (*kind > 10)
        return -EINVAL;
    if (family != AF_UNIX)
        return -EAFNOSUPPORT;
    if (protocol != 0 && protocol != (int32_t)AF_UNIX)
        return -EPROTONOSUPPORT;
    if (*kind == SOCK_RAW)
        *kind = SOCKET_DATAGRAM;
    return *kind == SOCKET_STREAM || *kind == SOCKET_DATAGRAM || *kind == SOCKET_PACKET ? 0 : -ESOCKTNOSUPPORT;
}

int64_t call_socket(struct call *c)
{
    struct file_place place;
    uint32_t words[2] = {0, 0}, flags;
    int32_t fd;
    int64_t error = check_kind((uint32_t)c->a[0], (uint32_t)c->a[1], (int32_t)c->a[2], &words[0], &flags);

    if (error == 0)
        error = anonymous_make_at(SOCKET_NAMES_KERNEL, ANONYMOUS_SOCKET, flags, words, sizeof(words), &place);
    if (error != 0)
        return error;
    return socket_install(&place, 1, (flags & OPEN_CLOEXEC) != 0 ? DESCRIPTOR_CLOEXEC : 0, &fd, &error) == 1 ? fd
                                                                                                             : error;
}

int64_t call_socketpair(struct call *c)
{
    const struct credentials *own = &thread_current()->context.credentials;
    struct socket_pair_start start = {0, {thread_current()->group->id, own->euid, own->egid}};
    uint32_t flags;
    int32_t fds[2];
    int64_t error = check_kind((uint32_t)c->a[0], (uint32_t)c->a[1], (int32_t)c->a[2], &start.type, &flags);

    if (error != 0)
        return error == -EAFNOSUPPORT && (uint32_t)c->a[0] == 2 ? -EAFNOSUPPORT : error;
    if (!user_range(c->a[3], sizeof(fds)))
        return -EFAULT;
    error = anonymous_new(ANONYMOUS_SOCKET_PAIR, flags, &start, sizeof(start), fds);
    if (error < 0)
        return error;
    if (user_write(c->a[3], fds, sizeof(fds)) != 0) {
        files_close(fds[0]);
        files_close(fds[1]);
        return -EFAULT;
    }
    return 0;
}

/* Returns ERROR, which an argument has caused, or the error for an FD that is no socket, which takes precedence, as in
 * Linux. */
static int64_t socket_error(int64_t fd, int64_t error)
{
    struct socket_call call = {.operation = SOCKET_NAME};
    int64_t result = simple(fd, &call);

    return result < 0 ? result : error;
}

int64_t call_bind(struct call *c)
{
    struct socket_call call = {.operation = SOCKET_BIND};
    int64_t error = socket_read_name(c->a[1], (uint32_t)c->a[2], &call);

    if (error == 0)
        error = socket_error((int32_t)c->a[0], 0); /* a path must not be created if FD is no socket */
    if (error == 0)
        error = socket_find_node(&call, true);
    if (error != 0)
        return socket_error((int32_t)c->a[0], error);
    error = simple((int32_t)c->a[0], &call);
    if (error < 0 && call.node != 0)
        remove_name(&call);
    return error;
}

int64_t call_connect(struct call *c)
{
    struct socket_call call = {.operation = SOCKET_CONNECT};
    int64_t error = socket_read_name(c->a[1], (uint32_t)c->a[2], &call);
    uint16_t family;

    if (error == -EINVAL && (uint32_t)c->a[2] >= FAMILY_SIZE && user_read(&family, c->a[1], sizeof(family)) == 0 &&
        family == AF_UNSPEC) /* removes the peer */
        error = 0;
    else if (error == 0 && call.name_size == 0)
        error = -EINVAL;
    if (error == 0)
        error = socket_find_node(&call, false);
    return error != 0 ? socket_error((int32_t)c->a[0], error) : simple((int32_t)c->a[0], &call);
}

int64_t call_listen(struct call *c)
{
    struct socket_call call = {.operation = SOCKET_LISTEN, .a = (uint32_t)c->a[1]};

    return simple((int32_t)c->a[0], &call);
}

int64_t call_shutdown(struct call *c)
{
    struct socket_call call = {.operation = SOCKET_SHUTDOWN, .a = (uint32_t)c->a[1]};

    return simple((int32_t)c->a[0], &call);
}

/* Writes a name to ADDRESS and its size to LENGTH_AT, which contained the size of the buffer. -EFAULT, -EINVAL. */
static int64_t give_name(uint64_t address, uint64_t length_at, const struct socket_result *result)
{
    uint32_t room;

    if (user_read(&room, length_at, sizeof(room)) != 0)
        return -EFAULT;
    if ((int32_t)room < 0)
        return -EINVAL;
    if (socket_write_name(address, &room, result) != 0 || user_write(length_at, &room, sizeof(room)) != 0)
        return -EFAULT;
    return 0;
}

static int64_t name_of(const struct call *c, uint32_t operation)
{
    struct socket_call call = {.operation = operation};
    struct socket_result result;
    struct file_answer answer;
    int64_t error = socket_do((int32_t)c->a[0], &call, sizeof(call), &result, sizeof(result), false, "", &answer);

    return error != 0 ? error : give_name(c->a[1], c->a[2], &result);
}

int64_t call_getsockname(struct call *c)
{
    return name_of(c, SOCKET_NAME);
}

int64_t call_getpeername(struct call *c)
{
    return name_of(c, SOCKET_PEER);
}

static int64_t accept(const struct call *c, uint32_t flags)
{
    struct socket_call call = {.operation = SOCKET_ACCEPT, .flags = flags};
    struct {
        struct socket_result result;
        struct file_place place;
    } got;
    struct file_answer answer;
    int32_t fd;
    int64_t error;

    if ((flags & ~(OPEN_NONBLOCK | OPEN_CLOEXEC)) != 0)
        return -EINVAL;
    error = socket_do((int32_t)c->a[0], &call, sizeof(call), &got.result, sizeof(got), false, "a connection", &answer);
    if (error != 0)
        return error;
    if (got.result.files != 1)
        return -EPROTO;
    if (c->a[1] != 0) {
        error = give_name(c->a[1], c->a[2], &got.result);
        if (error != 0) {
            socket_drop(&got.place, 1);
            return error;
        }
    }
    return socket_install(&got.place, 1, (flags & OPEN_CLOEXEC) != 0 ? DESCRIPTOR_CLOEXEC : 0, &fd, &error) == 1
               ? fd
               : error;
}

int64_t call_accept(struct call *c)
{
    return accept(c, 0);
}

int64_t call_accept4(struct call *c)
{
    return accept(c, (uint32_t)c->a[3]);
}

/* --- options --- */

int64_t call_setsockopt(struct call *c)
{
    struct {
        struct socket_call call;
        uint8_t data[OPTION_MOST];
    } set = {.call = {.operation = SOCKET_SET_OPTION, .a = (uint32_t)c->a[2]}};
    uint32_t size = (uint32_t)c->a[4];
    struct socket_result result;
    struct file_answer answer;

    if ((int32_t)size < 0)
        return socket_error((int32_t)c->a[0], -EINVAL);
    if ((int32_t)c->a[1] != SOL_SOCKET)
        return socket_error((int32_t)c->a[0], -EOPNOTSUPP);
    if (size > OPTION_MOST)
        size = OPTION_MOST;
    if (user_read(set.data, c->a[3], size) != 0)
        return socket_error((int32_t)c->a[0], -EFAULT);
    return socket_do((int32_t)c->a[0], &set.call, sizeof(set.call) + size, &result, sizeof(result), false, "", &answer);
}

int64_t call_getsockopt(struct call *c)
{
    struct socket_call call = {.operation = SOCKET_GET_OPTION, .a = (uint32_t)c->a[2]};
    struct {
        struct socket_result result;
        uint8_t data[OPTION_MOST];
    } got;
    struct file_answer answer;
    uint32_t room;
    int64_t error;

    if ((int32_t)c->a[1] != SOL_SOCKET)
        return socket_error((int32_t)c->a[0], -EOPNOTSUPP);
    if (user_read(&room, c->a[4], sizeof(room)) != 0)
        return socket_error((int32_t)c->a[0], -EFAULT);
    if ((int32_t)room < 0)
        return socket_error((int32_t)c->a[0], -EINVAL);
    error = socket_do((int32_t)c->a[0], &call, sizeof(call), &got.result, sizeof(got), false, "", &answer);
    if (error != 0)
        return error;
    if (room > got.result.size)
        room = got.result.size;
    if (user_write(c->a[3], got.data, room) != 0 || user_write(c->a[4], &room, sizeof(room)) != 0)
        return -EFAULT;
    return 0;
}
