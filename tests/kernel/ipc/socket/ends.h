/* Two connected sockets for host tests, of which the first sends to the second, and stand-ins for what they call: files
 * of this kernel and of another, the worker, and the clock by which a slice ends. A test includes this once. */
#ifndef TESTS_SOCKET_ENDS_H
#define TESTS_SOCKET_ENDS_H

#include "kernel/ipc/socket/internal.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/wire.h"
#include "kernel/fs/node/node.h"
#include "kernel/instance/instance.h"
#include "tests/stand_in/heap.h"
#include "tests/stand_in/panic.h"
#include "tests/test.h"

#include "tests/stand_in/quota.h"

#define HERE 1u
#define ELSEWHERE 2u

struct instance instance = {.kernel = HERE, .kernels = 4};

static struct node named = {.number = 7}; /* the one node */

struct node *node_find(uint64_t number)
{
    return number == named.number ? &named : NULL;
}

static int proxies; /* that stand for files of other kernels */
static uint64_t last_closed;
static struct file *local; /* the one file of this kernel */

struct file *file_find(uint64_t id)
{
    if (local == NULL || local->id != id)
        return NULL;
    file_pin(local);
    return local;
}

struct file *file_create_proxy(uint32_t kernel, uint64_t id)
{
    struct file *file = heap_alloc(sizeof(*file));

    if (file == NULL)
        return NULL;
    proxies++;
    *file = (struct file){.kernel = kernel, .id = id, .opens = 1, .pins = 1};
    return file;
}

void file_free(struct file *file)
{
    proxies--;
    heap_free(file, sizeof(*file));
}

void file_close(struct file *file)
{
    CHECK(file->opens > 0);
    file->opens--;
    last_closed = file->id;
    if (file->kernel != HERE)
        file_unpin(file);
}

void file_event(struct file_events *events)
{
    watch_event(&events->source);
}

void watch_event(struct watch_source *source)
{
    source->events++;
}

static struct work *submitted; /* what a worker is to do */
static uint64_t counts;        /* of the time stamp counter: all of them since a slice began */

void work_submit(struct work *work)
{
    CHECK(submitted == NULL);
    submitted = work;
}

uint64_t rdtsc_unordered(void)
{
    return counts;
}

static void (*in_pause)(void); /* is called once, in a pause with so many packets in the second socket's queue */
static uint32_t pause_left;

bool slice_pause(void);

/* What makes sockets, and passes over all of them, is not called here. */
struct file *file_create(const struct file_kind *kind, const struct file_facts *facts, uint32_t flags, void *state,
                         struct file_events *events)
{
    (void)kind;
    (void)facts;
    (void)flags;
    (void)state;
    (void)events;
    CHECK(false);
    return NULL;
}

void file_each(void (*each)(struct file *file, void *context), void *context)
{
    (void)each;
    (void)context;
    CHECK(false);
}

void anonymous_register(enum anonymous what,
                        int (*make)(uint32_t flags, const void *data, size_t size, struct file *made[2]))
{
    (void)what;
    (void)make;
    CHECK(false);
}

void node_put(struct node *node)
{
    (void)node;
    CHECK(false);
}

static struct file files[2];
static struct socket ends[2];

static void begin(uint32_t type)
{
    heap_objects = proxies = 0;
    heap_left = -1;
    local = NULL;
    submitted = NULL;
    counts = 0;
    for (int i = 0; i < 2; i++) {
        struct socket *socket = &ends[i];

        files[i] = (struct file){.id = (uint64_t)i + 1, .pins = 1, .opens = 1, .events = &files[i].own_events};
        *socket = (struct socket){.file = &files[i],
                                  .type = type,
                                  .state = SOCKET_CONNECTED,
                                  .peer = &ends[1 - i],
                                  .send_room = SOCKET_BUFFER};
        list_init(&socket->queue);
        list_init(&socket->drafts);
        list_init(&socket->notified);
        list_init(&socket->senders);
        list_init(&socket->owing_node);
        list_init(&socket->name_node);
        list_init(&socket->backlog);
        list_init(&socket->flying_node);
        list_init(&socket->held_node);
        list_init(&socket->carriers);
    }
    for (int i = 0; i < 2; i++) {
        list_append(&ends[1 - i].senders, &ends[i].peer_node);
        ends[i].sender_count = 1;
    }
}

bool slice_pause(void)
{
    uint32_t packets = 0;
    void (*what)(void) = in_pause;

    list_for_each(node, &ends[1].queue)
        packets++;
    if (what != NULL && packets <= pause_left) {
        in_pause = NULL;
        what();
    }
    if (in_pause == NULL)
        counts = 0; /* else the next look is the end of a slice, too */
    return false;
}

static void end(void)
{
    for (int i = 0; i < 2; i++) {
        socket_drop_queue_locked(&ends[i]);
        draft_drop_all_locked(&ends[i]);
        list_remove(&ends[i].name_node);
    }
    socket_sweep();
    CHECK_EQ(heap_objects, 0);
    CHECK_EQ(proxies, 0);
}

static uint64_t draft; /* of the last send */

static int64_t send_call(const struct socket_call *call, const void *data, uint32_t size,
                         const struct file_place *places)
{
    struct socket *full = NULL;
    struct list notified;
    int64_t result;

    list_init(&notified);
    result = socket_send_locked(&ends[0], call, places, data, size, &full, &draft, &notified);
    CHECK(result != -EAGAIN || full == &ends[1]);
    socket_notify(&notified);
    return result;
}

static int64_t send_with(const void *data, uint32_t size, const struct file_place *places, uint32_t count, uint32_t pid)
{
    struct socket_call call = {.files = count, .user = {.pid = pid, .uid = pid + 1, .gid = pid + 2}};
    int64_t result = send_call(&call, data, size, places);

    CHECK_EQ(draft, 0);
    return result;
}

__attribute__((unused)) static int64_t send(const void *data, uint32_t size)
{
    return send_with(data, size, NULL, 0, 7);
}

static struct socket_result got;
static struct file_place places[4];

static uint32_t whole; /* of the message that is received: struct socket_call */

static int64_t receive_from(const struct socket_user *from, void *data, uint32_t size, uint32_t room, uint32_t flags)
{
    struct list notified;
    int64_t result;

    list_init(&notified);
    got = (struct socket_result){.flags = 0};
    result = socket_receive_locked(&ends[1], flags, from, data, size, whole, places, room, &got, &notified);
    socket_notify(&notified);
    socket_sweep();
    return result;
}

__attribute__((unused)) static int64_t receive(void *data, uint32_t size, uint32_t room, uint32_t flags)
{
    return receive_from(NULL, data, size, room, flags);
}

#endif
