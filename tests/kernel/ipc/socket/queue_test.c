/* What is on its way to a socket, and names.
 * sources: kernel/ipc/socket/queue.c kernel/ipc/socket/packet.c kernel/ipc/socket/draft.c kernel/ipc/socket/name.c
 * sources: kernel/ipc/socket/collect.c kernel/ipc/socket/socket.c kernel/ipc/socket/connect.c
 * sources: kernel/ipc/socket/option.c */
#include <stdlib.h>

#include "tests/kernel/ipc/socket/ends.h"

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
