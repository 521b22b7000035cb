/* Packets: memory, the opens of their files, and their end. What is thrown away has files to be closed, which cannot be
 * done under the lock. With them goes what else a call leaves to be done in slices. See internal.h. */
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/socket/internal.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/quota/quota.h"
#include "tasks/remote/work.h"

#define JOIN_ROOM 2048u  /* the least room of a stream's packet, in bytes */
#define AT_LEAST 16u     /* files and packets that a call closes; if it has taken long, a worker closes the rest */
#define TOLD_AT_ONCE 4u  /* senders */
#define AHEAD_MOST 4096u /* descriptors of a kernel that no quota has any more, and that are not yet closed */

static struct list garbage = {&garbage, &garbage}; /* [l] packets to be freed by socket_sweep */
static struct list refused = {&refused, &refused}; /* [l] sockets to be closed by socket_sweep, by backlog_node */
static struct list owing = {&owing, &owing};       /* [l] sockets whose senders are told by socket_sweep */
static bool sweeping;                              /* [l] */
static uint32_t ahead;                             /* [l] descriptors of packets there that are in no quota any more */

static size_t packet_size(const struct packet *packet)
{
    return sizeof(*packet) + packet->files_room * sizeof(packet->file[0]) + packet->room;
}

int packet_take_files(struct packet *packet, const struct file_place *places, uint32_t count)
{
    int error = 0;

    for (uint32_t i = 0; i < count && error == 0; i++) {
        struct file *file;

        if (places[i].kernel == instance.kernel) {
            file = file_find(places[i].id);
            if (file != NULL)
                file_unpin(file); /* the call has transferred an open, which keeps it open */
            if (file == NULL || socket_is_condemned_file_locked(file))
                error = -EBADF;
        } else {
            file = places[i].kernel < instance.kernels ? file_create_proxy(places[i].kernel, places[i].id) : NULL;
            if (file == NULL)
                error = -ENOMEM;
        }
        if (error == 0)
            packet->file[packet->files++] = file;
    }
    for (uint32_t i = 0; i < packet->files; i++) {
        if (error == 0)
            socket_takes_off_locked(packet->file[i]);
        else if (packet->file[i]->kernel != instance.kernel)
            file_unpin(packet->file[i]); /* frees the proxy, but not its open, which is the sender's */
    }
    return error;
}

/* Counts a packet for the user who sends it: -ENOBUFS; -ETOOMANYREFS: too many descriptors are under way;
 * -ENOMEM. */
static int count_packet(uint32_t uid, size_t bytes, uint32_t files)
{
    int error = quota_take(QUOTA_SOCKET_BYTES, uid, bytes, quota_limit(QUOTA_SOCKET_BYTES), -ENOBUFS);

    if (error != 0)
        return error;
    error = quota_take(QUOTA_FLYING, uid, files, quota_limit(QUOTA_FLYING), -ETOOMANYREFS);
    if (error != 0)
        quota_give(QUOTA_SOCKET_BYTES, uid, bytes);
    return error;
}

static void free_packet_locked(struct packet *packet)
{
    if (packet->counted)
        quota_give(QUOTA_FLYING, packet->user.uid, packet->files_room);
    else
        ahead -= packet->files_room;
    quota_give(QUOTA_SOCKET_BYTES, packet->user.uid, packet_size(packet));
    heap_free(packet, packet_size(packet));
}

struct packet *packet_make(const struct socket *from, const struct socket_user *user, uint32_t files, uint32_t size,
                           int *error)
{
    uint32_t room = from->type == SOCKET_STREAM && size < JOIN_ROOM ? JOIN_ROOM : size;
    size_t bytes = sizeof(struct packet) + files * sizeof(struct file *) + room;
    struct packet *packet = NULL;

    *error = count_packet(user->uid, bytes, files);
    if (*error == 0 && (packet = heap_alloc_unset(bytes)) == NULL) {
        *error = -ENOMEM;
        quota_give(QUOTA_SOCKET_BYTES, user->uid, bytes);
        quota_give(QUOTA_FLYING, user->uid, files);
    }
    if (packet == NULL)
        return NULL;
    memset(packet, 0, sizeof(*packet));
    list_init(&packet->node);
    list_init(&packet->carrier_node);
    packet->room = room;
    packet->files_room = files;
    packet->user = *user;
    packet->counted = true;
    packet->name_size = from->name_size;
    memcpy(packet->name, from->name, from->name_size);
    return packet;
}

struct packet *packet_make_whole(const struct socket *from, const struct socket_call *call,
                                 const struct file_place *places, uint32_t size, int *error)
{
    struct packet *packet = packet_make(from, &call->user, call->files, size, error);

    if (packet == NULL)
        return NULL;
    *error = packet_take_files(packet, places, call->files);
    if (*error != 0) {
        free_packet_locked(packet);
        return NULL;
    }
    return packet;
}

/* Its descriptors leave the quota at once: who has closed a socket may send others, although a worker closes them a
 * little later; up to a bound, or who does nothing else would fill the memory. */
void packet_throw_locked(struct packet *packet)
{
    list_append(&garbage, &packet->node);
    if (packet->files_room > AHEAD_MOST - ahead)
        return;
    quota_give(QUOTA_FLYING, packet->user.uid, packet->files_room);
    ahead += packet->files_room;
    packet->counted = false;
}

void socket_refuse_locked(struct socket *socket)
{
    if (list_empty(&socket->backlog))
        return;
    file_pin(socket->file); /* until the last of them has been closed: their packets are among its carriers */
    list_append_all(&refused, &socket->backlog);
}

static void close_refused(struct socket *end)
{
    struct socket *listener = end->listener;
    bool last;

    file_close(end->file);
    spin_lock(&socket_lock);
    last = --listener->waiting == 0;
    spin_unlock(&socket_lock);
    if (last)
        file_unpin(listener->file);
}

/* --- senders --- */

void socket_set_peer_locked(struct socket *socket, struct socket *peer)
{
    if (socket->peer != NULL) {
        list_remove(&socket->peer_node);
        socket->peer->sender_count--;
    }
    socket->peer = peer;
    if (peer != NULL) {
        list_append(&peer->senders, &socket->peer_node);
        peer->sender_count++;
    }
}

struct socket *socket_peer_locked(struct socket *socket, struct list *notified)
{
    if (socket->peer != NULL && socket->peer->closed) {
        socket_set_peer_locked(socket, NULL);
        socket->lost = true;
        socket_note_locked(socket, notified);
    }
    return socket->peer;
}

/* Tells the first of SOCKET's senders, which goes behind the others. */
static void tell_one_locked(struct socket *socket, struct list *notified)
{
    struct socket *sender = container_of(socket->senders.next, struct socket, peer_node);

    list_remove(&sender->peer_node);
    list_append(&socket->senders, &sender->peer_node);
    socket_peer_locked(sender, notified);
    socket_note_locked(sender, notified);
}

/* Tells some senders. They go behind those that are not told yet; a new one comes last, too. So who is owed something
 * is among the first, whoever leaves meanwhile, at the cost of telling some twice. */
static void tell_some_locked(struct socket *socket, struct list *notified)
{
    for (uint32_t i = 0; i < TOLD_AT_ONCE && socket->owed > 0 && !list_empty(&socket->senders); i++) {
        socket->owed--;
        tell_one_locked(socket, notified);
    }
    if (list_empty(&socket->senders))
        socket->owed = 0;
}

void socket_tell_senders_locked(struct socket *socket, struct list *notified)
{
    socket->owed = socket->sender_count; /* all, also who was told of the last room a moment ago */
    if (socket->sender_count <= TOLD_AT_ONCE) {
        tell_some_locked(socket, notified);
    } else if (list_empty(&socket->owing_node)) {
        file_pin(socket->file);
        list_append(&owing, &socket->owing_node);
    }
}

/* Tells some senders of a socket, and the next ones when other sockets have had their turn. False: none are owed. */
static bool sweep_senders(void)
{
    struct socket *socket = NULL;
    struct list notified;
    bool more = false;

    list_init(&notified);
    spin_lock(&socket_lock);
    if (!list_empty(&owing)) {
        socket = container_of(owing.next, struct socket, owing_node);
        tell_some_locked(socket, &notified);
        more = socket->owed > 0;
        list_remove(&socket->owing_node);
        if (more)
            list_append(&owing, &socket->owing_node);
    }
    spin_unlock(&socket_lock);
    socket_notify(&notified);
    if (socket != NULL && !more)
        file_unpin(socket->file);
    return socket != NULL;
}

/* --- the sweep --- */

/* Closes a refused socket, or a file of a packet, which is freed with the last. False: there is nothing. */
static bool sweep_closed(void)
{
    struct packet *packet = NULL;
    struct socket *end = NULL;
    struct file *file = NULL;

    spin_lock(&socket_lock);
    if (!list_empty(&refused)) {
        end = container_of(refused.next, struct socket, backlog_node);
        list_remove(&end->backlog_node);
    } else if (!list_empty(&garbage)) {
        packet = container_of(garbage.next, struct packet, node);
        file = packet->files > 0 ? packet->file[--packet->files] : NULL;
        if (file != NULL)
            socket_lands_locked(file);
        if (packet->files == 0) {
            list_remove(&packet->node);
            free_packet_locked(packet);
        }
    }
    spin_unlock(&socket_lock);
    if (end != NULL)
        close_refused(end);
    if (file != NULL)
        file_close(file);
    return end != NULL || file != NULL || packet != NULL;
}

/* A step of each kind, as programs may cause more of one kind all the time. False: nothing is left. */
static bool sweep_one(void)
{
    bool told = sweep_senders();

    return sweep_closed() || told;
}

static bool is_left_locked(void)
{
    return !list_empty(&garbage) || !list_empty(&refused) || !list_empty(&owing);
}

/* Whether anything is left, which the caller, who sweeps, goes on with. */
static bool is_left(void)
{
    bool left;

    spin_lock(&socket_lock);
    left = sweeping = is_left_locked();
    spin_unlock(&socket_lock);
    return left;
}

static void sweep_rest(struct work *work)
{
    (void)work;
    while (is_left()) {
        while (sweep_one())
            slice_check();
    }
}

/* Closing a file may drop another socket's queue. Only one caller sweeps at a time, for all, so nothing recurs. Callers
 * may be handlers, or hold locks of their own: they go on until the slice is over. */
void socket_sweep(void)
{
    static struct work work = {.run = sweep_rest};
    uint64_t length = 0, before;
    uint32_t done = 0;
    bool mine;

    spin_lock(&socket_lock);
    mine = !sweeping && is_left_locked();
    sweeping |= mine;
    spin_unlock(&socket_lock);
    if (!mine)
        return;
    do { /* who closes a set of files may give way to others in it, and then the slice is over, too */
        before = length;
        length = silence_length();
    } while (length >= before && (done++ < AT_LEAST || length <= SLICE_COUNTS) && sweep_one());
    if (is_left())
        work_submit(&work);
}
