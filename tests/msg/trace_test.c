/* The trace of messages.
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
#include "msg/trace.h"

#include "tests/msg/layer.h"

static char text[1 << 20];
static const char *lines[10000];
static uint32_t line_count;

/* Reads the whole report in pieces of SIZE bytes, and splits it at its lines. */
static void read_report(size_t size)
{
    uint64_t cursor = 0;
    size_t length = 0;

    do {
        size_t more = msg_trace_report(text + length, size, &cursor);

        CHECK(more < size);
        length += more;
        CHECK(length + size < sizeof(text));
    } while (cursor != 0);
    text[length] = '\0';
    line_count = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        lines[line_count++] = line;
}

static void check_line(uint32_t number, const char *expected)
{
    const char *at;

    CHECK(number < line_count && strncmp(lines[number], "kernel 1 time ", 14) == 0);
    at = strchr(lines[number] + 14, ' ');
    CHECK(at != NULL);
    if (strncmp(at + 1, expected, strlen(expected)) != 0)
        printf("# %s, not %s\n", at + 1, expected);
    CHECK(strncmp(at + 1, expected, strlen(expected)) == 0);
}

ALONE(
    records,
    "what is sent and taken is recorded in order, a reply with the id and the peer of its request, errors and kept too")
{
    struct msg_asking asking;
    struct answer answer = {0};
    char expected[100];
    int64_t error = -EIO;
    uint16_t id;

    begin(3, 1, "trace=on");
    CHECK_EQ(msg_notify(OTHER, MSG_TELL, words, 48), 0);
    CHECK_EQ(msg_notify(PEER, MSG_TELL_BYTES, words, 7), 0);
    msg_ask(&asking, PEER, MSG_ASK, words, 48, note_answer, &answer);
    CHECK(peers_take(PEER, MSG_ORDINARY) != NULL);
    id = peers_take(PEER, MSG_ORDINARY)->request;
    peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_KEPT, id, NULL, 0);
    msg_poll();
    peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_ERROR, id, &error, 8);
    send_numbers(OTHER, MSG_ASK_URGENT, 0x123, 1, 48);
    msg_poll();
    msg_reply(&got[0].ticket, words, 48);
    read_report(4096);
    CHECK_EQ(line_count, 7);
    check_line(0, "sent TELL peer 2 request 0 length 48 ");
    check_line(1, "sent TELL_BYTES peer 0 request 0 length 7 ");
    snprintf(expected, sizeof(expected), "sent ASK peer 0 request %u length 48 ", id);
    check_line(2, expected);
    snprintf(expected, sizeof(expected), "took ASK reply kept peer 0 request %u length 0 ", id);
    check_line(3, expected);
    check_line(4, "took ASK_URGENT peer 2 request 291 length 48 ");
    snprintf(expected, sizeof(expected), "took ASK reply error peer 0 request %u length 8 ", id);
    check_line(5, expected);
    check_line(6, "sent ASK_URGENT reply peer 2 request 291 length 48 ");
}

ALONE(long_once, "a long message is one record, with its whole length, sent or taken")
{
    static uint8_t bytes[1000];

    begin(3, 1, "trace=on");
    CHECK_EQ(msg_notify(PEER, MSG_TELL_BYTES, bytes, sizeof(bytes)), 0);
    peers_send(PEER, MSG_TELL_BYTES, 0, 0, bytes, sizeof(bytes));
    msg_poll();
    read_report(4096);
    CHECK_EQ(line_count, 2);
    check_line(0, "sent TELL_BYTES peer 0 request 0 length 1000 ");
    check_line(1, "took TELL_BYTES peer 0 request 0 length 1000 ");
}

ALONE(bounded, "the last tracesize records are kept, oldest first")
{
    begin(3, 1, "trace=on tracesize=10");
    for (uint32_t i = 0; i < 35; i++) {
        CHECK_EQ(msg_notify(PEER, MSG_TELL_BYTES, words, i), 0);
        CHECK(peers_take(PEER, MSG_ORDINARY) != NULL);
    }
    read_report(4096);
    CHECK_EQ(line_count, 10);
    for (uint32_t i = 0; i < 10; i++) {
        char expected[100];

        snprintf(expected, sizeof(expected), "sent TELL_BYTES peer 0 request 0 length %u ", 25 + i);
        check_line(i, expected);
    }
}

ALONE(pieces, "the report is the same read in small pieces, and in one")
{
    static char whole[sizeof(text)];
    uint64_t cursor = 0;
    size_t length;

    begin(3, 1, "trace=on tracesize=100");
    for (uint32_t i = 0; i < 250; i++) {
        CHECK_EQ(msg_notify(PEER, MSG_TELL_BYTES, words, i % 49), 0);
        CHECK(peers_take(PEER, MSG_ORDINARY) != NULL);
    }
    length = msg_trace_report(whole, sizeof(whole), &cursor);
    CHECK(cursor == 0 && length > 100 * 40);
    for (size_t size = 200; size < 3000; size += 91) {
        size_t at = 0;

        read_report(size);
        CHECK_EQ(line_count, 100);
        for (uint32_t i = 0; i < line_count; i++) {
            CHECK(memcmp(whole + at, lines[i], strlen(lines[i])) == 0);
            at += strlen(lines[i]) + 1;
        }
        CHECK_EQ(at, length);
    }
}

ALONE(switched, "off, nothing is recorded; on again, it goes on; cleared, nothing is left")
{
    begin(3, 1, "");
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    read_report(4096);
    CHECK_EQ(line_count, 0);
    CHECK_EQ(option_control("trace=on"), 0);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK_EQ(option_control("trace=off"), 0);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    send_numbers(PEER, MSG_TELL, 0, 3, 48);
    msg_poll();
    CHECK_EQ(option_control("trace=on"), 0);
    send_numbers(PEER, MSG_TELL, 0, 3, 48);
    msg_poll();
    read_report(4096);
    CHECK_EQ(line_count, 4);
    CHECK_EQ(option_control("trace=clear"), 0);
    read_report(4096);
    CHECK_EQ(line_count, 0);
    CHECK_EQ(got_count, 6);
}

ALONE(no_memory, "without memory for it the trace stays off, which is said, and messages go on")
{
    begin(3, 1, "");
    peers_fail_next(1);
    CHECK_EQ(option_control("trace=on"), -ENOMEM);
    CHECK(!trace_is_on());
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    read_report(4096);
    CHECK_EQ(line_count, 0);
    CHECK_EQ(option_control("trace=on"), 0);
    CHECK(trace_is_on());
}
