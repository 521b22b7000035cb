/* The text of what was counted.
 *
 * sources: msg/ring.c msg/message.c msg/channel.c msg/send.c msg/receive.c msg/request/call.c msg/request/kept.c
 *
 * sources: msg/request/multicast.c
 *
 * sources: msg/doorbell.c msg/request/request.c msg/request/gather.c msg/fragment.c msg/dispatch.c
 *
 * sources: msg/idle.c msg/stats.c msg/inject.c msg/trace.c msg/control.c msg/report.c boot/options/control.c
 *
 * sources: boot/options/options.c kernel/wait/completion.c */
#include "tests/msg/layer.h"

/* Reads the whole report in pieces of SIZE bytes, each with a guarded end. Returns its length. */
static size_t read_report(char *text, size_t room, size_t size)
{
    uint64_t cursor = 0;
    size_t length = 0;

    do {
        char *piece = malloc(size);
        size_t more = msg_report(piece, size, &cursor);

        CHECK(more <= size && length + more < room);
        CHECK(memchr(piece, '\0', more) == NULL);
        CHECK(more == 0 || piece[more - 1] == '\n');
        memcpy(text + length, piece, more);
        free(piece);
        length += more;
        CHECK(more > 0 || cursor == 0);
    } while (cursor != 0);
    text[length] = '\0';
    return length;
}

ALONE(counts, "the report has what each type and each reply sent and received, and what was dropped")
{
    static char text[1 << 16];

    begin(3, 1, "");
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK_EQ(msg_notify(PEER, MSG_TELL_BYTES, words, 10), 0);
    CHECK_EQ(msg_notify(PEER, MSG_TELL_BYTES, words, 11), 0);
    send_numbers(OTHER, MSG_ASK, 0, 3, 48);
    peers_put(OTHER, MSG_ORDINARY, peers_header(OTHER, MSG_TELL, 0, 47), words, 47);
    msg_poll();
    msg_reply(&got[0].ticket, words, 48);
    read_report(text, sizeof(text), 8192);
    CHECK(strstr(text, "kernel 1 TELL sent 1 received 0 bytes out 48 in 0\n") != NULL);
    CHECK(strstr(text, "kernel 1 TELL_BYTES sent 2 received 0 bytes out 21 in 0\n") != NULL);
    CHECK(strstr(text, "kernel 1 ASK sent 0 received 3 bytes out 0 in 144 queued p50 ") != NULL);
    CHECK(strstr(text, "kernel 1 ASK.reply sent 1 received 0 bytes out 48 in 0\n") != NULL);
    CHECK(strstr(text, "kernel 1 from 2 ") != NULL && strstr(text, "kernel 1 from 0 ") == NULL);
    CHECK(strstr(text, " dropped type 0 source 0 length 1 fragment 0 ") != NULL);
    CHECK(strstr(text, "ECHO") == NULL);
}

ALONE(great_numbers,
      "the report stays in its room and has whole lines however great the numbers are, in pieces of any size")
{
    static char text[1 << 18], again[1 << 18];
    size_t length;

    begin(64, 4, "ring=4");
    for (uint32_t k = 0; k < 64; k++) {
        if (k != OWN)
            send_numbers(k, MSG_TELL, 0, 1, 48);
    }
    msg_poll();
    memset(&msg_stats, 0xff, sizeof(msg_stats));
    cpus[0]->idle_polls = cpus[0]->interrupts = UINT64_MAX;
    for (uint32_t i = 0; i < MSG_ROWS; i++) {
        msg_sent[i] = (struct msg_sent){UINT64_MAX, UINT64_MAX};
        msg_rows[i].received = msg_rows[i].bytes_received = UINT64_MAX;
        if (msg_type_name(i % MSG_TYPES) == NULL)
            msg_sent[i].count = msg_rows[i].received = 0;
        else
            msg_rows[i].times = msg_rows[MSG_TELL].times;
    }
    memset(msg_rows[MSG_TELL].times, 0xff, sizeof(*msg_rows[MSG_TELL].times));
    for (uint32_t k = 0; k < 64; k++) {
        if (k != OWN)
            msg_peers[k]->in[0].next = msg_peers[k]->in[1].next = UINT64_MAX;
    }
    length = read_report(text, sizeof(text), 1 << 17);
    CHECK(strstr(text, "overrun 18446744073709551615\n") != NULL);
    for (size_t size = 1000; size < 9000; size += 613) {
        CHECK_EQ(read_report(again, sizeof(again), size), length);
        CHECK(memcmp(text, again, length) == 0);
    }
}
