/* Many senders of one socket: each is told of room, and of its end.
 * sources: kernel/ipc/socket/queue.c kernel/ipc/socket/packet.c kernel/ipc/socket/draft.c kernel/ipc/socket/name.c
 * sources: kernel/ipc/socket/collect.c kernel/ipc/socket/socket.c kernel/ipc/socket/connect.c
 * sources: kernel/ipc/socket/option.c */
#include "tests/kernel/ipc/socket/ends.h"

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
