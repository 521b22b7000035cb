/* Files in packets: given, left, refused and closed, and sockets that only their own packets hold.
 * sources: kernel/ipc/socket/queue.c kernel/ipc/socket/packet.c kernel/ipc/socket/draft.c kernel/ipc/socket/name.c
 * sources: kernel/ipc/socket/collect.c kernel/ipc/socket/socket.c kernel/ipc/socket/connect.c
 * sources: kernel/ipc/socket/option.c */
#include "tests/kernel/ipc/socket/ends.h"

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
