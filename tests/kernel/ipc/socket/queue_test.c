/* What is on its way to a socket, and names.
 * sources: kernel/ipc/socket/queue.c kernel/ipc/socket/packet.c kernel/ipc/socket/draft.c kernel/ipc/socket/name.c
 * sources: kernel/ipc/socket/collect.c kernel/ipc/socket/socket.c kernel/ipc/socket/connect.c
 * sources: kernel/ipc/socket/option.c */
#include "kernel/ipc/socket/internal.h"

#include <stdlib.h>

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

static int64_t send(const void *data, uint32_t size)
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

static int64_t receive(void *data, uint32_t size, uint32_t room, uint32_t flags)
{
    return receive_from(NULL, data, size, room, flags);
}

TEST(stream_random, "a stream gives what was sent in order, whatever the sizes")
{
    static uint8_t bytes[70000], back[70000];
    uint64_t sent = 0, received = 0;

    begin(SOCKET_STREAM);
    srand(1);
    for (int round = 0; round < 20000; round++) {
        uint32_t size = 1 + (uint32_t)rand() % (round % 7 == 0 ? 70000 : 300);

        if (rand() % 2 == 0) {
            int64_t count;

            for (uint32_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)((sent + i) * 7);
            count = send(bytes, size);
            CHECK(count == -EAGAIN || (count > 0 && count <= size));
            sent += count > 0 ? (uint64_t)count : 0;
        } else {
            bool peek = rand() % 4 == 0;
            int64_t count = receive(back, size, 0, peek ? MESSAGE_PEEK : 0);

            CHECK((count == -EAGAIN) == (sent == received));
            for (int64_t i = 0; i < count; i++)
                CHECK_EQ(back[i], (uint8_t)((received + (uint64_t)i) * 7));
            if (count > 0)
                CHECK(count == size || (uint64_t)count == sent - received);
            received += count > 0 && !peek ? (uint64_t)count : 0;
        }
        CHECK_EQ(socket_readable_locked(&ends[1]), sent - received);
    }
    CHECK(sent > 1000000);
    end();
}

TEST(stream_full, "a full stream takes no more until some is taken, and its sender is told")
{
    static uint8_t block[50000];
    int64_t sent = 0, count;

    begin(SOCKET_STREAM);
    while ((count = send(block, sizeof(block))) > 0)
        sent += count;
    CHECK_EQ(count, -EAGAIN);
    CHECK(sent > SOCKET_BUFFER * 9 / 10 && sent <= SOCKET_BUFFER);
    CHECK(files[0].wanted && !socket_writable_locked(&ends[0], &ends[1]));
    CHECK_EQ(receive(block, sizeof(block), 0, 0), sizeof(block));
    CHECK_EQ(files[0].own_events.source.events, 1);
    CHECK(send(block, sizeof(block)) > 0);
    end();
}

TEST(packet_bounds, "packets keep their bounds, and what has no room is cut off and told")
{
    static uint8_t big[SOCKET_BUFFER + 1];
    char text[16];

    begin(SOCKET_PACKET);
    CHECK_EQ(send("one", 3), 3);
    CHECK_EQ(send("", 0), 0);
    CHECK_EQ(send("sixsix", 6), 6);
    CHECK_EQ(receive(text, 2, 0, MESSAGE_PEEK), 2);
    CHECK_EQ(receive(text, 2, 0, 0), 2);
    CHECK(got.length == 3 && (got.flags & MESSAGE_CUT) != 0 && got.user.pid == 7);
    CHECK_EQ(receive(text, 16, 0, 0), 0);
    CHECK_EQ(receive(text, 16, 0, 0), 6);
    CHECK(got.length == 6 && (got.flags & MESSAGE_CUT) == 0);
    CHECK_EQ(receive(text, 16, 0, 0), -EAGAIN);
    CHECK_EQ(send(big, sizeof(big)), -EMSGSIZE);
    end();
}

TEST(dropped_later, "who drops many packets after a slice is over closes some, and leaves the rest to a worker")
{
    struct file_place one[1] = {{.id = 50, .kernel = ELSEWHERE}};

    begin(SOCKET_PACKET);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(send_with("x", 1, one, 1, 7), 1);
    socket_drop_queue_locked(&ends[1]);
    counts = 1000000;
    socket_sweep();
    CHECK(submitted != NULL && proxies > 50 && proxies < 100);
    socket_sweep(); /* the worker has it */
    CHECK(proxies > 50);
    submitted->run(submitted);
    CHECK_EQ(proxies, 0);
    submitted = NULL;
    end();
    CHECK(submitted == NULL);
}

TEST(drafts_sent, "a message of several requests arrives with the last of them, with its files")
{
    struct file_place one[1] = {{.id = 50, .kernel = ELSEWHERE}};
    struct socket_call call = {.b = 1, .whole = 7};
    char text[16];

    begin(SOCKET_PACKET);
    CHECK_EQ(send_call(&call, "abc", 3, NULL), 3);
    call.draft = draft;
    CHECK(draft != 0 && ends[1].packets == 0);
    call.at = 2;
    CHECK_EQ(send_call(&call, "de", 2, NULL), -EPROTO); /* not the next byte */
    call.at = 3;
    CHECK_EQ(send_call(&call, "de", 2, NULL), 2);
    call.at = 5;
    CHECK_EQ(send_call(&call, "fg", 2, NULL), -EPROTO); /* the last must have the file */
    CHECK_EQ(send_call(&call, "fgh", 3, NULL), -EPROTO);
    call.files = 1;
    heap_left = 0;
    CHECK_EQ(send_call(&call, "fg", 2, one), -ENOMEM);
    heap_left = -1;
    CHECK_EQ(send_call(&call, "fg", 2, one), 2);
    CHECK(draft == 0 && ends[1].packets == 1 && proxies == 1);
    CHECK_EQ(receive(text, 16, 4, 0), 7);
    CHECK(memcmp(text, "abcdefg", 7) == 0 && got.files == 1 && got.draft == 0);
    CHECK_EQ(send_call(&call, "fg", 2, one), -EPROTO); /* it is no draft any more */
    call = (struct socket_call){.whole = 7};
    CHECK_EQ(send_call(&call, "abc", 3, NULL), 3);
    call.draft = draft;
    draft_drop_locked(&ends[0], draft);
    call.at = 3;
    CHECK_EQ(send_call(&call, "defg", 4, NULL), -EPROTO);
    call = (struct socket_call){.whole = SOCKET_BUFFER};
    CHECK_EQ(send_call(&call, "abc", 3, NULL), -EMSGSIZE);
    call.whole = 7;
    CHECK_EQ(send_call(&call, "abc", 3, NULL), 3); /* freed with the socket */
    end();
}

TEST(drafts_received, "what one request has no room for stays for its receiver alone")
{
    struct file_place two[2] = {{.id = 50, .kernel = ELSEWHERE}, {.id = 60, .kernel = ELSEWHERE}};
    struct socket_call rest = {.whole = 6, .at = 4};
    char text[16];

    begin(SOCKET_DATAGRAM);
    CHECK_EQ(send_with("abcdefg", 7, two, 2, 7), 7);
    CHECK_EQ(send("next", 4), 4);
    whole = 6;
    CHECK_EQ(receive(text, 4, 1, MESSAGE_PEEK), 4);
    rest.draft = got.draft;
    CHECK(rest.draft != 0 && got.length == 7 && (got.flags & MESSAGE_CUT) != 0 && ends[1].packets == 2);
    CHECK_EQ(receive(text, 4, 1, 0), 4);
    CHECK(got.draft != 0 && got.draft != rest.draft && got.files == 1 && ends[1].packets == 1);
    CHECK_EQ(draft_receive_locked(&ends[1], &rest, (uint8_t *)text, 2), 2);
    CHECK(memcmp(text, "ef", 2) == 0);
    CHECK_EQ(draft_receive_locked(&ends[1], &rest, (uint8_t *)text, 2), -EPROTO); /* that was all of it */
    rest.draft = got.draft;
    CHECK_EQ(draft_receive_locked(&ends[1], &rest, (uint8_t *)text, 4), -EPROTO);
    rest.at = 8;
    CHECK_EQ(draft_receive_locked(&ends[1], &rest, (uint8_t *)text, 0), -EPROTO);
    CHECK_EQ(receive(text, 16, 0, 0), 4);
    CHECK(memcmp(text, "next", 4) == 0 && got.draft == 0 && proxies == 1);
    whole = 0;
    end();
}

TEST(files_given, "files come with the first byte of what they were sent with, each once, and nothing comes behind it")
{
    struct file_place two[2] = {{.id = 50, .kernel = ELSEWHERE}, {.id = 60, .kernel = ELSEWHERE}};
    char text[16];

    begin(SOCKET_STREAM);
    CHECK_EQ(send("before", 6), 6);
    CHECK_EQ(send_with("with", 4, two, 2, 7), 4);
    CHECK_EQ(send("after", 5), 5);
    CHECK_EQ(proxies, 2);
    CHECK_EQ(receive(text, 4, 4, 0), 4);
    CHECK_EQ(got.files, 0);
    CHECK_EQ(receive(text, 16, 4, MESSAGE_PEEK), 6);
    CHECK_EQ(receive(text, 4, 4, 0), 4); /* the last two of the first, and of what has them */
    CHECK(got.files == 2 && places[0].id == 50 && places[1].id == 60 && places[1].kernel == ELSEWHERE);
    CHECK_EQ(proxies, 0); /* their opens are the receiver's */
    CHECK_EQ(receive(text, 16, 4, 0), 7);
    CHECK_EQ(got.files, 0);
    end();
}

TEST(files_left, "files that there is no room for are closed, and so are those that nobody receives")
{
    struct file mine = {.id = 40, .kernel = HERE, .pins = 1, .opens = 3};
    struct file_place some[3] = {
        {.id = 40, .kernel = HERE}, {.id = 50, .kernel = ELSEWHERE}, {.id = 40, .kernel = HERE}};
    char text[16];

    begin(SOCKET_DATAGRAM);
    local = &mine;
    CHECK_EQ(send_with("a", 1, some, 3, 7), 1);
    CHECK_EQ(receive(text, 16, 1, 0), 1);
    CHECK(got.files == 1 && (got.flags & MESSAGE_CONTROL_CUT) != 0);
    CHECK_EQ(mine.opens, 2); /* one is the receiver's, one was somebody's before */
    CHECK_EQ(proxies, 0);
    CHECK_EQ(send_with("b", 1, some, 1, 7), 1);
    CHECK_EQ(receive(text, 16, 0, MESSAGE_PEEK), 1);
    CHECK_EQ(mine.opens, 2);
    end(); /* dropped with the queue */
    CHECK_EQ(mine.opens, 1);
    CHECK_EQ(mine.pins, 1);
}

TEST(files_refused, "a send that fails leaves the opens to the sender")
{
    struct file mine = {.id = 40, .kernel = HERE, .pins = 1, .opens = 2};
    struct file_place some[2] = {{.id = 50, .kernel = ELSEWHERE}, {.id = 41, .kernel = HERE}};

    begin(SOCKET_STREAM);
    local = &mine;
    CHECK_EQ(send_with("a", 1, some, 2, 7), -EBADF);
    CHECK_EQ(proxies, 0);
    heap_left = 0;
    CHECK_EQ(send_with("a", 1, some, 1, 7), -ENOMEM);
    heap_left = -1;
    ends[0].no_write = true;
    some[0] = (struct file_place){.id = 40, .kernel = HERE};
    CHECK_EQ(send_with("a", 1, some, 1, 7), -EPIPE);
    CHECK_EQ(mine.opens, 2);
    CHECK_EQ(last_closed == 41, false);
    end();
}

/* ENDS[1] can be sent. It has two opens: a descriptor's, and that for a packet. */
static void begin_circle(void)
{
    begin(SOCKET_STREAM);
    local = &files[1];
    files[1].kernel = HERE;
    files[1].kind = &socket_kind;
    files[1].state = &ends[1];
    files[1].opens = 2;
}

TEST(files_circle, "a socket that only its own packets hold loses them, and one that a descriptor holds does not")
{
    struct file_place self = {.id = 2, .kernel = HERE};
    char byte = 'x';

    begin_circle();
    CHECK_EQ(send_with(&byte, 1, &self, 1, 7), 1);
    socket_collect();
    CHECK_EQ(ends[1].packets, 1);
    files[1].opens = 1; /* the descriptor has been closed */
    socket_collect();
    CHECK(list_empty(&ends[1].queue)); /* the counts are of no use: with its last open it is closed */
    CHECK_EQ(files[1].opens, 0);
    CHECK_EQ(ends[1].flying, 0);
    end();
    begin_circle();
    CHECK_EQ(send_with(&byte, 1, &self, 1, 7), 1);
    CHECK_EQ(receive(&byte, 1, 1, 0), 1);
    CHECK_EQ(ends[1].flying, 0); /* the receiver has the open */
    files[1].opens = 1;
    socket_collect();
    CHECK_EQ(files[1].opens, 1);
    end();
}

/* Sends ENDS[1] to itself so often that a worker searches, and closes its descriptor. */
static void begin_long_circle(uint32_t packets)
{
    struct file_place self = {.id = 2, .kernel = HERE};
    char byte = 'x';

    begin_circle();
    files[1].opens = packets + 1;
    for (uint32_t i = 0; i < packets; i++)
        CHECK_EQ(send_with(&byte, 1, &self, 1, 7), 1);
    files[1].opens--;
    socket_collect();
    CHECK(submitted != NULL && ends[1].packets == packets);
}

/* Runs the search; WHAT is called in the pause that comes when LEFT packets are left in the queue. */
static void search(uint32_t left, void (*what)(void))
{
    struct work *work = submitted;

    in_pause = what;
    pause_left = left;
    counts = 1000000;
    submitted = NULL;
    work->run(work);
    CHECK(in_pause == NULL && submitted == NULL);
}

static int64_t tried; /* the result of what is done in a pause */

static void open_once_more(void)
{
    files[1].opens++;
}

static void send_once_more(void)
{
    struct file_place self = {.id = 2, .kernel = HERE};

    files[1].opens++; /* by who has found it before it was closed */
    tried = send_with("x", 1, &self, 1, 7);
    files[1].opens--; /* a sender drops what was not sent */
}

TEST(files_condemned, "what a search is about to close is sent no more, and what is opened before that is not closed")
{
    begin_long_circle(40);
    search(40, open_once_more);
    CHECK(ends[1].packets == 40 && files[1].opens == 41 && !ends[1].suspect && !ends[1].condemned);
    end();
    begin_long_circle(40);
    search(39, send_once_more); /* a packet has been thrown away */
    CHECK_EQ(tried, -EBADF);
    CHECK(files[1].opens == 0 && ends[1].flying == 0 && !ends[1].suspect && ends[1].condemned);
    end();
}

static void use_once_more(void)
{
    const struct file_request request = {.special = {.what = SPECIAL_SOCKET}};
    const struct socket_call call = {.operation = SOCKET_SHUTDOWN};
    struct socket_result result;
    char byte = 'x';

    tried = socket_kind.operate(&files[1], &request, &call, sizeof(call), &result, sizeof(result), NULL);
    CHECK_EQ(socket_kind.read(&files[1], &byte, 1), -EBADF);
    CHECK_EQ(socket_kind.write(&files[1], &byte, 1, 0), -EBADF);
}

TEST(files_used, "nor is it read, written or changed by who has found it before it was closed")
{
    begin_long_circle(40);
    search(39, use_once_more);
    CHECK_EQ(tried, -EBADF);
    CHECK(files[1].opens == 0 && ends[1].condemned);
    end();
}

static void sweep_now(void)
{
    CHECK(ends[0].suspect); /* the search has not yet come to it */
    counts = 0;
    socket_sweep();
    CHECK_EQ(ends[0].flying, 0);
}

TEST(files_landed, "what leaves its last packet before a search comes to it is condemned, and no suspect of the next")
{
    struct file_place both[2] = {{.id = 1, .kernel = HERE}, {.id = 2, .kernel = HERE}};
    struct socket_call call = {.files = 1};
    int error;

    begin_circle();
    files[0].kernel = HERE;
    files[0].kind = &socket_kind;
    files[0].state = &ends[0];
    packet_add_locked(&ends[0], packet_make_whole(&ends[1], &call, &both[1], 0, &error));
    files[1].opens = 1;
    local = &files[0];
    files[0].opens = 34; /* so that a slice ends between the last packet of the second and the look at the first */
    for (int i = 0; i < 34; i++)
        CHECK_EQ(send_with("x", 1, &both[0], 1, 7), 1);
    socket_collect();
    search(0, sweep_now);
    CHECK(files[0].opens == 0 && !ends[0].suspect && ends[0].condemned);
    end();
}

TEST(files_quota,
     "descriptors of what was closed leave the quota at once, although a worker closes them, up to a bound")
{
    struct file_place one[1] = {{.id = 50, .kernel = ELSEWHERE}};

    begin(SOCKET_PACKET);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(send_with("x", 1, one, 1, 7), 1);
    CHECK_EQ(quota_counts[QUOTA_FLYING], 100);
    socket_drop_queue_locked(&ends[1]);
    CHECK_EQ(quota_counts[QUOTA_FLYING], 0);
    CHECK(quota_counts[QUOTA_SOCKET_BYTES] > 0);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 100; i++)
            CHECK_EQ(send_with("x", 1, one, 1, 7), 1);
        socket_drop_queue_locked(&ends[1]);
    }
    CHECK_EQ(quota_counts[QUOTA_FLYING], 5100 - 4096);
    end();
    CHECK(quota_counts[QUOTA_FLYING] == 0 && quota_counts[QUOTA_SOCKET_BYTES] == 0);
}

TEST(credentials, "who asks for credentials gets bytes of one sender at a time")
{
    char text[16];

    begin(SOCKET_STREAM);
    ends[1].credentials = true;
    CHECK_EQ(send_with("aa", 2, NULL, 0, 7), 2);
    CHECK_EQ(send_with("bb", 2, NULL, 0, 8), 2);
    CHECK_EQ(receive(text, 16, 0, 0), 2);
    CHECK(got.user.pid == 7 && got.user.uid == 8 && got.user.gid == 9 && (got.flags & MESSAGE_CREDENTIALS) != 0);
    CHECK_EQ(receive_from(&(struct socket_user){7, 8, 9}, text, 16, 0, 0), 0);
    CHECK_EQ(receive_from(&(struct socket_user){8, 9, 10}, text, 1, 0, 0), 1);
    CHECK_EQ(receive(text, 16, 0, 0), 1);
    CHECK_EQ(got.user.pid, 8);
    end();
}

TEST(datagrams_most, "a queue takes eleven datagrams")
{
    char text[4];
    int sent = 0;

    begin(SOCKET_DATAGRAM);
    while (send("x", 1) == 1)
        sent++;
    CHECK_EQ(sent, 11);
    CHECK(!socket_writable_locked(&ends[0], &ends[1]));
    CHECK_EQ(receive(text, 4, 0, 0), 1);
    CHECK_EQ(send("x", 1), 1);
    end();
}

#define CROWD 300

static struct file crowd_files[CROWD];
static struct socket crowd[CROWD];

/* CROWD sockets that send to the second one, and wait for room. */
static void gather_crowd(void)
{
    begin(SOCKET_DATAGRAM);
    for (int i = 0; i < CROWD; i++) {
        crowd_files[i] = (struct file){.pins = 1, .opens = 1, .wanted = true, .events = &crowd_files[i].own_events};
        crowd[i] = (struct socket){.file = &crowd_files[i], .type = SOCKET_DATAGRAM, .state = SOCKET_CONNECTED};
        list_init(&crowd[i].name_node);
        list_init(&crowd[i].senders);
        list_init(&crowd[i].peer_node);
        list_init(&crowd[i].notified);
        socket_set_peer_locked(&crowd[i], &ends[1]);
    }
    CHECK_EQ(ends[1].sender_count, CROWD + 1);
}

/* How many of them, from FIRST on, have had EVENTS events. */
static uint32_t told(int first, uint64_t events)
{
    uint32_t count = 0;

    for (int i = first; i < CROWD; i++)
        count += crowd_files[i].own_events.source.events == events;
    return count;
}

static void leave_crowd(void)
{
    for (int i = 0; i < CROWD; i++)
        socket_set_peer_locked(&crowd[i], NULL);
    CHECK(ends[1].owed == 0 && list_empty(&ends[1].owing_node) && files[1].pins == 1);
}

static void tell(void)
{
    struct list notified;

    list_init(&notified);
    socket_tell_senders_locked(&ends[1], &notified);
    socket_notify(&notified);
    counts = 1000000;
    socket_sweep();
}

TEST(crowd_told,
     "of many senders some are told of room at once, and each in the end, whoever leaves or comes meanwhile")
{
    uint32_t at_once;

    gather_crowd();
    tell();
    at_once = told(0, 1);
    CHECK(at_once > 0 && at_once < CROWD / 2 && submitted != NULL);
    CHECK_EQ(files[1].pins, 2); /* it stays until they are told */
    for (int i = 0; i < 20; i++)
        socket_set_peer_locked(&crowd[i], NULL); /* told already */
    for (int i = CROWD - 20; i < CROWD; i++)
        socket_set_peer_locked(&crowd[i], NULL); /* not told yet */
    socket_set_peer_locked(&crowd[0], &ends[1]);
    submitted->run(submitted);
    submitted = NULL;
    CHECK_EQ(told(0, 1), CROWD - 20);
    leave_crowd();
    gather_crowd();
    tell();
    for (int i = 0; i < CROWD; i++)
        crowd_files[i].wanted = true; /* those that were told have filled it again */
    at_once = told(0, 1);
    tell(); /* a worker has it: all of them are owed the news */
    submitted->run(submitted);
    submitted = NULL;
    CHECK(told(0, 2) == at_once && told(0, 1) == CROWD - at_once);
    leave_crowd();
    end();
}

TEST(crowd_lost, "many senders lose a socket that is closed, at once when they look, and each in the end")
{
    struct socket_call call = {.files = 0}, named = {.named = 1, .name = "\0other", .name_size = 6};
    struct socket *full = NULL;
    struct list notified;

    gather_crowd();
    CHECK_EQ(socket_name_bind(&crowd[CROWD - 2], named.name, named.name_size, 0), 0);
    ends[1].closed = true;
    tell();
    CHECK(submitted != NULL && ends[1].sender_count > CROWD / 2 && files[1].pins == 2);
    list_init(&notified);
    CHECK(crowd[CROWD - 1].peer == &ends[1]);
    CHECK_EQ(socket_send_locked(&crowd[CROWD - 1], &call, NULL, (const uint8_t *)"x", 1, &full, &draft, &notified),
             -ECONNREFUSED);
    CHECK(crowd[CROWD - 1].peer == NULL && ends[1].packets == 0);
    CHECK(crowd[CROWD - 2].peer == &ends[1]); /* who sends to it, or connects, finds that it has lost its own peer */
    CHECK_EQ(socket_connect_datagram_locked(&crowd[0], &named, &notified), 0);
    socket_set_peer_locked(&crowd[0], NULL);
    CHECK(crowd[CROWD - 2].peer == NULL && crowd[CROWD - 2].lost);
    list_remove(&crowd[CROWD - 2].name_node);
    socket_notify(&notified);
    CHECK_EQ(told(CROWD - 2, 1), 2); /* and so do the threads that wait for them */
    submitted->run(submitted);
    submitted = NULL;
    CHECK(ends[1].sender_count == 0 && list_empty(&ends[1].senders));
    for (int i = 1; i < CROWD - 1; i++)
        CHECK(crowd[i].peer == NULL && crowd[i].lost && crowd_files[i].own_events.source.events == 1);
    leave_crowd();
    end();
}

TEST(names, "a name is one socket's of its type, until that goes")
{
    static const uint8_t name[] = "\0name", path[] = "/tmp/x";
    struct socket *found = NULL;

    begin(SOCKET_DATAGRAM);
    CHECK_EQ(socket_name_find(SOCKET_DATAGRAM, name, 5, 0, &found), -ECONNREFUSED);
    CHECK_EQ(socket_name_bind(&ends[0], name, 5, 0), 0);
    CHECK_EQ(socket_name_bind(&ends[1], name, 5, 0), -EADDRINUSE);
    CHECK_EQ(socket_name_bind(&ends[1], name, 4, 0), 0);
    CHECK_EQ(socket_name_find(SOCKET_DATAGRAM, name, 5, 0, &found), 0);
    CHECK(found == &ends[0]);
    CHECK_EQ(socket_name_find(SOCKET_STREAM, name, 5, 0, &found), -ECONNREFUSED);
    end();
    begin(SOCKET_DATAGRAM);
    CHECK_EQ(socket_name_find(SOCKET_DATAGRAM, path, 6, 7, &found), -ECONNREFUSED);
    CHECK_EQ(socket_name_bind(&ends[0], path, 6, 8), -ENOENT); /* that node is gone */
    CHECK_EQ(socket_name_bind(&ends[0], path, 6, 7), 0);
    CHECK_EQ(socket_name_bind(&ends[1], path, 6, 7), -EADDRINUSE);
    CHECK_EQ(socket_name_find(SOCKET_DATAGRAM, (const uint8_t *)"other", 5, 7, &found), 0);
    CHECK(found == &ends[0]);
    CHECK_EQ(socket_name_find(SOCKET_STREAM, path, 6, 7, &found), -EPROTOTYPE);
    end();
    begin(SOCKET_DATAGRAM);
    CHECK_EQ(socket_name_bind(&ends[0], NULL, 0, 0), 0);
    CHECK_EQ(socket_name_bind(&ends[1], NULL, 0, 0), 0);
    CHECK(ends[0].name_size == 6 && ends[1].name_size == 6 && memcmp(ends[0].name, ends[1].name, 6) != 0);
    end();
}
