/* Options of sockets: getsockopt(2) and setsockopt(2) for SOL_SOCKET. Under socket_lock. */
#include "kernel/abi/errno.h"
#include "kernel/ipc/socket/internal.h"
#include "kernel/lib/string.h"

#define SO_DEBUG 1u
#define SO_REUSEADDR 2u
#define SO_TYPE 3u
#define SO_ERROR 4u
#define SO_BROADCAST 6u
#define SO_SNDBUF 7u
#define SO_RCVBUF 8u
#define SO_KEEPALIVE 9u
#define SO_OOBINLINE 10u
#define SO_REUSEPORT 15u
#define SO_PASSCRED 16u
#define SO_PEERCRED 17u
#define SO_RCVLOWAT 18u
#define SO_RCVTIMEO 20u
#define SO_SNDTIMEO 21u
#define SO_ACCEPTCONN 30u
#define SO_PROTOCOL 38u
#define SO_DOMAIN 39u
#define PLAIN                                                                                                          \
    (1u << SO_DEBUG | 1u << SO_REUSEADDR | 1u << SO_BROADCAST | 1u << SO_KEEPALIVE | 1u << SO_OOBINLINE |              \
     1u << SO_REUSEPORT)
#define SECOND 1000000000ull
#define SEND_LEAST 4608u
#define RECEIVE_LEAST 2304u

static bool is_plain(uint32_t option)
{
    return option < 32 && (PLAIN >> option & 1) != 0;
}

int64_t socket_get_option_locked(struct socket *socket, uint32_t option, uint8_t *data, uint32_t room)
{
    uint64_t timeout[2];
    uint32_t words[3] = {0, UINT32_MAX, UINT32_MAX};
    uint32_t size = sizeof(words[0]);

    switch (option) {
    case SO_TYPE:
        words[0] = socket->type;
        break;
    case SO_ERROR:
        words[0] = (uint32_t)socket->error;
        socket->error = 0;
        break;
    case SO_SNDBUF:
        words[0] = socket->send_room;
        break;
    case SO_RCVBUF:
        words[0] = socket->receive_room;
        break;
    case SO_PASSCRED:
        words[0] = socket->credentials;
        break;
    case SO_PEERCRED:
        if (socket->peer_user.pid != 0)
            memcpy(words, &socket->peer_user, sizeof(words));
        size = sizeof(words);
        break;
    case SO_RCVLOWAT:
    case SO_DOMAIN:
        words[0] = 1;
        break;
    case SO_PROTOCOL:
        break;
    case SO_ACCEPTCONN:
        words[0] = socket->state == SOCKET_LISTENING;
        break;
    case SO_RCVTIMEO:
    case SO_SNDTIMEO:
        timeout[0] = socket->timeouts[option - SO_RCVTIMEO] / SECOND;
        timeout[1] = socket->timeouts[option - SO_RCVTIMEO] % SECOND / 1000;
        if (room < sizeof(timeout))
            return -EPROTO;
        memcpy(data, timeout, sizeof(timeout));
        return sizeof(timeout);
    default:
        if (!is_plain(option))
            return -ENOPROTOOPT;
        words[0] = socket->plain >> option & 1;
    }
    if (room < size)
        return -EPROTO;
    memcpy(data, words, size);
    return size;
}

int64_t socket_set_option_locked(struct socket *socket, uint32_t option, const uint8_t *data, uint32_t size,
                                 struct list *notified)
{
    int64_t time[2];
    int32_t value;
    uint32_t room;

    if (option == SO_RCVTIMEO || option == SO_SNDTIMEO) {
        if (size < sizeof(time))
            return -EINVAL;
        memcpy(time, data, sizeof(time));
        if (time[1] < 0 || time[1] >= 1000000)
            return -EDOM;
        socket->timeouts[option - SO_RCVTIMEO] = time[0] < 0 || time[0] > INT32_MAX
                                                     ? 0
                                                     : (uint64_t)time[0] * SECOND + (uint64_t)time[1] * 1000;
        return 0;
    }
    if (size < sizeof(value))
        return -EINVAL;
    memcpy(&value, data, sizeof(value));
    room = value < 0 || value > (int32_t)SOCKET_BUFFER ? SOCKET_BUFFER * 2 : (uint32_t)value * 2;
    if (option == SO_SNDBUF) {
        socket->send_room = room > SEND_LEAST ? room : SEND_LEAST;
        socket_note_locked(socket, notified);
    } else if (option == SO_RCVBUF) {
        socket->receive_room = room > RECEIVE_LEAST ? room : RECEIVE_LEAST;
    } else if (option == SO_PASSCRED) {
        socket->credentials = value != 0;
    } else if (is_plain(option)) {
        socket->plain = (socket->plain & ~(1u << option)) | (value != 0 ? 1u << option : 0);
    } else {
        return -ENOPROTOOPT;
    }
    return 0;
}
