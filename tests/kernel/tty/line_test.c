/* The line discipline.
 * sources: kernel/tty/line.c */
#include "kernel/tty/line.h"

#include "kernel/abi/signal.h"
#include "tests/test.h"

static char sent[20000]; /* a string: what has gone out */
static size_t sent_length;
static struct line line;

static void send(void *context, uint8_t byte)
{
    CHECK(context == &line);
    CHECK(sent_length < sizeof(sent) - 1);
    sent[sent_length++] = (char)byte;
    sent[sent_length] = '\0';
}

static void discard(void *context)
{
    CHECK(context == &line);
    sent_length = 0;
    sent[0] = '\0';
}

static void begin(void)
{
    static const struct line_output_side side = {send, discard};

    sent_length = 0;
    sent[0] = '\0';
    line_init(&line, &side, &line);
}

/* As a program finds a terminal on Linux. */
static void begin_cooked(void)
{
    begin();
    line_set_cooked(&line);
    line.modes.input |= LINE_IUTF8;
}

static uint32_t type(const char *text)
{
    uint32_t signal = 0;

    for (; *text != '\0'; text++)
        signal |= line_input(&line, (uint8_t)*text);
    return signal;
}

static void check_read(size_t size, const char *expected)
{
    uint8_t got[256];
    size_t count;

    CHECK(line_readable(&line, size, false));
    count = line_read(&line, got, size);
    CHECK_EQ(count, strlen(expected));
    CHECK(memcmp(got, expected, count) == 0);
}

static void check_sent(const char *expected)
{
    CHECK_TEXT(sent, expected);
    sent_length = 0;
    sent[0] = '\0';
}

TEST(line_raw, "a raw terminal gives every byte at once, without echo or signals")
{
    begin();
    CHECK(!line_readable(&line, 1, false));
    CHECK_EQ(type("a\r\x03\x04\x7f"), 0);
    check_read(100, "a\r\x03\x04\x7f");
    CHECK(!line_readable(&line, 1, false));
    check_sent("");
    line_output(&line, '\n');
    check_sent("\n");
}

TEST(line_canonical, "a line is read when its end is typed, one at a time, in parts if the room is small")
{
    begin_cooked();
    type("one\rtw");
    check_sent("one\r\ntw");
    check_read(100, "one\n");
    CHECK(!line_readable(&line, 100, false));
    type("o\n");
    check_read(2, "tw");
    check_read(2, "o\n");
    CHECK(!line_readable(&line, 2, false));
}

TEST(line_erase, "erasing takes characters away, on the screen too, and not those of the line before")
{
    begin_cooked();
    type("ab\n\x7f\x7f");
    check_sent("ab\r\n");
    type("x\x01y\x7f\x7f");
    check_sent("x^Ay\b \b\b \b\b \b");
    type("\n");
    check_read(100, "ab\n");
    check_read(100, "x\n");
}

TEST(line_erase_utf8, "a character of several bytes is erased whole, in one column")
{
    begin_cooked();
    type("a\xc3\xa4");
    check_sent("a\xc3\xa4");
    type("\x7f");
    check_sent("\b \b");
    type("\n");
    check_read(100, "a\n");
}

TEST(line_erase_tab, "a tab is as wide as it was")
{
    begin_cooked();
    for (const char *prompt = "> "; *prompt != '\0'; prompt++)
        line_output(&line, (uint8_t)*prompt);
    type("ab\t");
    check_sent("> ab\t");
    type("\x7f");
    check_sent("\b \b\b \b\b \b\b \b");
}

TEST(line_kill, "killing takes the line away, erasing a word its last word")
{
    begin_cooked();
    type("abc\x15z\n");
    check_sent("abc\b \b\b \b\b \bz\r\n");
    check_read(100, "z\n");
    type("one two  \x17x\n");
    check_read(100, "one x\n");
    line.modes.local &= ~LINE_ECHOKE;
    check_sent("one two  \b \b\b \b\b \b\b \b\b \bx\r\n");
    type("abc\x15");
    check_sent("abc^U\r\n");
    line.modes.local &= ~LINE_ECHOK;
    type("abc\x15");
    check_sent("abc^U");
}

TEST(line_end, "^D ends a line without a byte: alone it is the end of input, once")
{
    begin_cooked();
    type("ab\x04");
    check_sent("ab");
    check_read(100, "ab");
    CHECK(!line_readable(&line, 100, false));
    type("\x04");
    check_read(100, "");
    CHECK(!line_readable(&line, 100, false));
    type("c\n");
    check_read(100, "c\n");
}

TEST(line_end_exact, "a line that ^D ended and that just fits is not followed by an end")
{
    begin_cooked();
    type("ab\x04");
    check_read(2, "ab");
    CHECK(!line_readable(&line, 2, false));
}

TEST(line_signals, "^C, ^\\ and ^Z are signals, throw typed input away and are shown")
{
    begin_cooked();
    CHECK_EQ(type("abc\x03"), SIGINT);
    check_sent("^C"); /* what was on its way is thrown away, too */
    CHECK_EQ(type("\x1c"), SIGQUIT);
    CHECK_EQ(type("\x1a"), SIGTSTP);
    type("x\n");
    check_read(100, "x\n");
    line.modes.local |= LINE_NOFLSH;
    CHECK_EQ(type("q\x03r\n"), SIGINT);
    check_read(100, "qr\n");
    line.modes.local &= ~LINE_ISIG;
    CHECK_EQ(type("\x03\n"), 0);
    check_read(100, "\x03\n");
}

TEST(line_literal, "^V takes the next byte as it is")
{
    begin_cooked();
    CHECK_EQ(type("a\x16\x03\x16\rb\n"), 0);
    check_read(100, "a\x03\rb\n");
}

TEST(line_words, "a word is letters, digits and _ with what stands behind it")
{
    begin_cooked();
    type("one.two_2, \x17\n");
    check_read(100, "one.\n");
    type("a b\x17\x17\x17\n");
    check_read(100, "\n");
}

TEST(line_erase_shown, "without ECHOE the key is shown, with ECHOPRT what it takes, between \\ and /")
{
    begin_cooked();
    line.modes.local &= ~LINE_ECHOE;
    type("ab\x7f");
    check_sent("ab^?");
    line_flush(&line);
    line.modes.local |= LINE_ECHOE | LINE_ECHOPRT;
    type("abc\x7f\x7fx\n");
    check_sent("abc\\cb/x\r\n");
    check_read(100, "ax\n");
}

TEST(line_flow, "^S stops output until ^Q, a signal, another key if IXANY; what a program holds no key lets go on")
{
    begin_cooked();
    type("\x13");
    CHECK(line.stopped);
    type("a");
    CHECK(line.stopped);
    type("\x11");
    CHECK(!line.stopped);
    type("\x13\x03");
    CHECK(!line.stopped);
    line.modes.input |= LINE_IXANY;
    type("\x13"
         "b");
    CHECK(!line.stopped);
    line_hold(&line, true);
    type("\x11");
    CHECK(line.stopped);
    line_hold(&line, false);
    CHECK(!line.stopped);
    type("c\n");
    check_read(100, "bc\n"); /* ^C has thrown the a away, and ^S and ^Q are no input */
    type("\x16\x13\n");
    CHECK(!line.stopped);
    check_read(100, "\x13\n");
}

static void put_out(const char *text)
{
    for (; *text != '\0'; text++)
        line_output(&line, (uint8_t)*text);
}

TEST(line_flow_program, "what a key has stopped a program does not let go on, and what both have, it does")
{
    begin_cooked();
    type("\x13");
    line_hold(&line, false);
    CHECK(line.stopped);
    line_hold(&line, true);
    line_hold(&line, false);
    CHECK(!line.stopped);
}

TEST(line_tabs_erased, "a tab that is erased takes as much with it as it has put there")
{
    begin_cooked();
    put_out("$ ");
    check_sent("$ ");
    type("a\t\tb\x7f\x7f");
    check_sent("a\t\tb\b \b\b \b\b \b\b \b\b \b\b \b\b \b\b \b\b \b");
    type("\x7f\x7f");
    check_sent("\b \b\b \b\b \b\b \b\b \b\b \b");
}

TEST(line_bytes_waiting, "an end without a byte is none of the bytes that wait")
{
    begin_cooked();
    type("abc\x04");
    CHECK_EQ(line_bytes(&line), 3);
    CHECK_EQ(line_available(&line), 4);
    type("d\n");
    CHECK_EQ(line_bytes(&line), 5);
}

TEST(line_typed_raw, "what was typed raw behind a line is a line, too, when lines come back")
{
    struct line_modes raw, cooked;

    begin_cooked();
    cooked = raw = line.modes;
    raw.local &= ~(LINE_ICANON | LINE_ECHO);
    type("ab\n");
    line_set_modes(&line, &raw, false);
    type("xyz");
    line_set_modes(&line, &cooked, false);
    check_read(100, "ab\n");
    check_read(100, "xyz");
    CHECK(!line_readable(&line, 100, false));
}

TEST(line_flow_off, "without IXON ^S is a byte, and switching it off lets output go on")
{
    struct line_modes modes;

    begin_cooked();
    type("\x13");
    modes = line.modes;
    modes.input &= ~LINE_IXON;
    line_set_modes(&line, &modes, false);
    CHECK(!line.stopped);
    type("\x13\n");
    check_read(100, "\x13\n");
}

TEST(line_output_modes, "tabs become blanks, letters capitals, returns newlines or nothing, as the output modes say")
{
    begin_cooked();
    line.modes.output |= LINE_TABS;
    put_out("ab\tc\t");
    check_sent("ab      c       ");
    put_out("\n");
    line.modes.output = LINE_OPOST | LINE_OLCUC | LINE_ONOCR;
    check_sent("\r\n");
    put_out("\rxY\r");
    check_sent("XY\r");
    line.modes.output = LINE_OPOST | LINE_OCRNL;
    put_out("x\r");
    check_sent("x\n");
    line.modes.output = 0;
    put_out("a\tb\n");
    check_sent("a\tb\n");
}

TEST(line_time, "VTIME alone limits the wait for the first byte, with VMIN that for the next; late is what is there")
{
    begin();
    line.modes.characters[LINE_VMIN] = 0;
    line.modes.characters[LINE_VTIME] = 5;
    CHECK(!line_readable(&line, 10, false));
    CHECK_EQ(line_timeout(&line), 5);
    CHECK(line_readable(&line, 10, true));
    CHECK(!line_polls(&line));
    type("a");
    CHECK(line_polls(&line));
    check_read(10, "a");
    line.modes.characters[LINE_VMIN] = 3;
    CHECK_EQ(line_timeout(&line), 0);
    CHECK(!line_readable(&line, 10, true));
    type("a");
    CHECK_EQ(line_timeout(&line), 5);
    CHECK(!line_readable(&line, 10, false));
    CHECK(line_readable(&line, 10, true));
    CHECK(line_polls(&line));
    line.modes.characters[LINE_VTIME] = 0;
    CHECK(!line_polls(&line));
    type("bc");
    CHECK(line_polls(&line));
    check_read(10, "abc");
}

TEST(line_returns, "carriage returns and newlines are changed as the input modes say")
{
    begin_cooked();
    line.modes.input = LINE_IGNCR;
    type("a\rb\n");
    check_read(100, "ab\n");
    line.modes.input = LINE_INLCR;
    line.modes.local = 0;
    type("\n\r");
    check_read(100, "\r\r");
    line.modes.input = LINE_ISTRIP;
    type("\xe1");
    check_read(100, "a");
}

TEST(line_echo_off, "without echo nothing is shown, but newlines if asked")
{
    begin_cooked();
    line.modes.local &= ~LINE_ECHO;
    type("secret\x7f\x7f\n");
    check_sent("");
    check_read(100, "secr\n");
    line.modes.local |= LINE_ECHONL;
    type("x\n");
    check_sent("\r\n");
}

TEST(line_least, "a raw read waits for VMIN bytes, or for as many as it has room for; VMIN 0 never waits")
{
    begin();
    line.modes.characters[LINE_VMIN] = 3;
    type("ab");
    CHECK(!line_readable(&line, 10, false));
    CHECK(line_readable(&line, 2, false));
    type("c");
    check_read(10, "abc");
    line.modes.characters[LINE_VMIN] = 0;
    check_read(10, "");
}

TEST(line_full, "a line that is too long is cut with a bell, and still has its end")
{
    uint8_t got[LINE_SIZE + 10];

    begin_cooked();
    line.modes.local &= ~LINE_ECHO;
    for (uint32_t i = 0; i < LINE_SIZE + 5; i++)
        type("x");
    CHECK_EQ(sent_length, 6);
    CHECK_EQ(sent[0], 7);
    CHECK(line_room(&line));
    type("\n");
    CHECK_EQ(line_read(&line, got, sizeof(got)), LINE_SIZE);
    CHECK_EQ(got[LINE_SIZE - 1], '\n');
    begin();
    for (uint32_t i = 0; i < LINE_SIZE; i++) {
        CHECK(line_room(&line));
        type("x");
    }
    CHECK(!line_room(&line));
}

TEST(line_lines_full, "whole lines that nobody reads are not lost: there is no room then")
{
    uint8_t got[16];
    uint32_t typed = 0;

    begin_cooked();
    line.modes.local &= ~LINE_ECHO;
    while (line_room(&line))
        line_input(&line, typed++ % 4 == 3 ? '\n' : 'x');
    CHECK(typed >= LINE_SIZE - 1);
    CHECK_EQ(sent_length, 0);
    for (uint32_t i = 0; i < typed / 4; i++) {
        CHECK_EQ(line_read(&line, got, sizeof(got)), 4);
        CHECK(memcmp(got, "xxx\n", 4) == 0);
    }
}

TEST(line_modes, "what was typed before a change of modes is not lost unless it is flushed")
{
    struct line_modes cooked, raw;

    begin();
    raw = line.modes;
    begin_cooked();
    cooked = line.modes;
    type("half");
    line_set_modes(&line, &raw, false);
    check_read(100, "half");
    type("ab");
    line_set_modes(&line, &cooked, false);
    check_read(100, "ab");
    type("x\nyz\n");
    line_set_modes(&line, &raw, false);
    check_read(100, "x\nyz\n");
    type("gone");
    line_set_modes(&line, &cooked, true);
    CHECK(!line_readable(&line, 1, false));
}

TEST(line_finished, "after the end of input every read finds the end, behind what was typed")
{
    begin();
    type("a");
    line.finished = true;
    check_read(10, "a");
    check_read(10, "");
    check_read(10, "");
}

TEST(line_random, "random bytes in random modes keep the counts together and every read within its room")
{
    uint64_t state = 5;

    for (int round = 0; round < 300; round++) {
        begin_cooked();
        for (int i = 0; i < 400; i++) {
            uint8_t got[64];
            struct line_modes modes = line.modes;

            sent_length = 0;
            line_input(&line, (uint8_t)test_below(&state, test_below(&state, 2) ? 256 : 32));
            if (test_below(&state, 20) == 0) {
                modes.local = (uint32_t)test_random(&state);
                modes.input = (uint32_t)test_random(&state);
                modes.output = (uint32_t)test_random(&state);
                line_set_modes(&line, &modes, test_below(&state, 4) == 0);
            }
            if (line_readable(&line, 1 + i % 64, false))
                CHECK(line_read(&line, got, 1 + (size_t)i % 64) <= 1 + (size_t)i % 64);
            CHECK(line.head - line.tail <= LINE_SIZE);
            CHECK(line.ready - line.tail <= line.head - line.tail);
            CHECK(line.ends <= line.ready - line.tail);
        }
    }
}
