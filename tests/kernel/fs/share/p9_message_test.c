/* 9P messages: what we write, and what we read of a server that may send anything.
 * sources: kernel/fs/share/p9_message.c */
#include "kernel/fs/share/p9_message.h"

#include "kernel/abi/errno.h"
#include "tests/test.h"

static uint8_t bytes[512];

/* An answer of TYPE to the request in BYTES, which it replaces: the header, then SIZE bytes of DATA. Returns its size.
 */
static uint32_t answer(uint8_t type, const void *data, uint32_t size)
{
    struct p9_writer to;

    p9_begin(&to, bytes, sizeof(bytes), type);
    p9_put_bytes(&to, data, size);
    CHECK(p9_end(&to));
    return to.size;
}

static const uint8_t *request(enum p9_type type)
{
    static uint8_t message[32];
    struct p9_writer to;

    p9_begin(&to, message, sizeof(message), type);
    CHECK(p9_end(&to));
    return message;
}

TEST(p9_write, "a message is its size, type and tag, and fields from the lowest byte on")
{
    static const uint8_t expected[] = {24, 0,   0,   0,    120, 0xff, 0xff, 4, 3, 2, 1, 2,
                                       0,  'h', 'i', 0xef, 8,   7,    6,    5, 4, 3, 2, 1};
    struct p9_writer to;

    p9_begin(&to, bytes, sizeof(bytes), P9_CLUNK);
    p9_put32(&to, 0x01020304);
    p9_put_text(&to, "hi", 2);
    p9_put8(&to, 0xef);
    p9_put64(&to, 0x0102030405060708);
    CHECK(p9_end(&to));
    CHECK_EQ(to.size, sizeof(expected));
    CHECK(memcmp(bytes, expected, sizeof(expected)) == 0);
}

TEST(p9_write_room, "what has no room fails, and nothing is written behind")
{
    struct p9_writer to;

    memset(bytes, 0x55, sizeof(bytes));
    p9_begin(&to, bytes, 10, P9_CLUNK);
    p9_put32(&to, 1);
    p9_put8(&to, 1);
    CHECK(!p9_end(&to));
    CHECK_EQ(bytes[10], 0x55);
    p9_begin(&to, bytes, 12, P9_CLUNK);
    p9_put_text(&to, "longer", 6);
    CHECK(!p9_end(&to));
    CHECK_EQ(bytes[12], 0x55);
    p9_begin(&to, NULL, 0, P9_CLUNK);
    CHECK(!p9_end(&to));
}

TEST(p9_answer, "an answer has the request's tag, and its type and one")
{
    static const uint8_t data[3] = {1, 2, 3};
    uint32_t size = answer(P9_CLUNK + 1, data, sizeof(data));
    struct p9_reader from;

    CHECK_EQ(p9_open_answer(&from, bytes, size, request(P9_CLUNK)), 0);
    CHECK_EQ(from.left, 3);
    CHECK_EQ(p9_get8(&from), 1);
    CHECK_EQ(p9_open_answer(&from, bytes, size, request(P9_WALK)), -EIO);
    bytes[5] = 7; /* its tag */
    CHECK_EQ(p9_open_answer(&from, bytes, size, request(P9_CLUNK)), -EIO);
}

TEST(p9_answer_size, "an answer is as long as it says, and no longer than what came")
{
    uint32_t size = answer(P9_CLUNK + 1, "abc", 3);
    struct p9_reader from;

    CHECK_EQ(p9_open_answer(&from, bytes, size - 1, request(P9_CLUNK)), -EIO);
    CHECK_EQ(p9_open_answer(&from, bytes, 6, request(P9_CLUNK)), -EIO);
    CHECK_EQ(p9_open_answer(&from, bytes, 0, request(P9_CLUNK)), -EIO);
    CHECK_EQ(p9_open_answer(&from, bytes, size + 5, request(P9_CLUNK)), 0);
    CHECK_EQ(from.left, 3);
    bytes[0] = 6;
    CHECK_EQ(p9_open_answer(&from, bytes, size, request(P9_CLUNK)), -EIO);
}

TEST(p9_error, "an error is the server's errno; what is none is EIO")
{
    static const struct {
        uint32_t error;
        int expected;
    } cases[] = {{ENOENT, -ENOENT}, {EROFS, -EROFS}, {0, -EIO}, {4096, -EIO}, {0xffffffff, -EIO}};
    struct p9_reader from;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t size = answer(P9_ERROR + 1, &cases[i].error, 4);

        CHECK_EQ(p9_open_answer(&from, bytes, size, request(P9_WALK)), cases[i].expected);
    }
    CHECK_EQ(p9_open_answer(&from, bytes, answer(P9_ERROR + 1, "ab", 2), request(P9_WALK)), -EIO);
}

TEST(p9_end_of_bytes, "a reader at its end fails and gives zeros")
{
    static const uint8_t data[] = {1, 2, 3};
    struct p9_reader from = {.at = data, .left = 3};
    uint16_t length;
    uint32_t size;

    CHECK_EQ(p9_get16(&from), 0x0201);
    CHECK_EQ(p9_get16(&from), 0);
    CHECK(from.failed);
    CHECK_EQ(p9_get8(&from), 0); /* though there is one */
    CHECK(p9_get_text(&from, &length) == NULL && length == 0);
    CHECK(p9_get_bytes(&from, 100, &size) == NULL && size == 0);
}

TEST(p9_bytes, "bytes that a read gives are no more than were asked for, nor than came")
{
    static const uint8_t data[] = {3, 0, 0, 0, 'a', 'b', 'c'};
    struct p9_reader from = {.at = data, .left = 7};
    uint32_t size;

    CHECK(p9_get_bytes(&from, 3, &size) == data + 4 && size == 3);
    from = (struct p9_reader){.at = data, .left = 7};
    CHECK(p9_get_bytes(&from, 2, &size) == NULL && from.failed);
    from = (struct p9_reader){.at = data, .left = 6};
    CHECK(p9_get_bytes(&from, 3, &size) == NULL && from.failed);
}

static uint32_t put_entry(struct p9_writer *to, const char *name, uint16_t length, uint64_t next)
{
    p9_put8(to, P9_QID_DIRECTORY);
    p9_put32(to, 1);
    p9_put64(to, 4711);
    p9_put64(to, next);
    p9_put8(to, 4);
    p9_put_text(to, name, length);
    return to->size;
}

TEST(p9_entries, "entries of a directory are read one by one; one with a bad name ends the listing")
{
    static const struct {
        const char *name;
        uint16_t length;
    } bad[] = {{"", 0}, {"a/b", 3}, {"a\0b", 3}};
    struct p9_writer to = {.bytes = bytes, .room = sizeof(bytes)};
    struct p9_reader from;
    struct p9_entry entry;

    put_entry(&to, "one", 3, 1);
    put_entry(&to, "two", 3, 2);
    from = (struct p9_reader){.at = bytes, .left = to.size};
    CHECK(p9_get_entry(&from, &entry) && entry.length == 3 && memcmp(entry.name, "one", 3) == 0);
    CHECK(entry.next == 1 && entry.type == 4 && entry.qid.path == 4711 && entry.qid.type == P9_QID_DIRECTORY);
    CHECK(p9_get_entry(&from, &entry) && memcmp(entry.name, "two", 3) == 0);
    CHECK(!p9_get_entry(&from, &entry) && !from.failed);
    from = (struct p9_reader){.at = bytes, .left = to.size - 1};
    CHECK(p9_get_entry(&from, &entry));
    CHECK(!p9_get_entry(&from, &entry) && from.failed);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        to.size = 0;
        from = (struct p9_reader){.at = bytes, .left = put_entry(&to, bad[i].name, bad[i].length, 1)};
        CHECK(!p9_get_entry(&from, &entry) && from.failed);
    }
}

TEST(p9_attributes, "attributes are what stat tells, times in ns; what makes no sense is 1970, or fails")
{
    struct p9_writer to = {.bytes = bytes, .room = sizeof(bytes)};
    struct p9_attributes found;
    struct p9_reader from;

    p9_put64(&to, 0x7ff);
    p9_put8(&to, 0);
    p9_put32(&to, 3);
    p9_put64(&to, 99);
    p9_put32(&to, 0100644);
    p9_put32(&to, 1000);
    p9_put32(&to, 1001);
    p9_put64(&to, 2); /* links */
    p9_put64(&to, 0);
    p9_put64(&to, 5000000000ull);
    p9_put64(&to, 4096);
    p9_put64(&to, 8);
    for (int i = 0; i < 2; i++) {
        p9_put64(&to, 10);
        p9_put64(&to, 500);
    }
    p9_put64(&to, UINT64_MAX);
    p9_put64(&to, 0);
    from = (struct p9_reader){.at = bytes, .left = to.size};
    p9_get_attributes(&from, &found);
    CHECK(!from.failed);
    CHECK(found.qid.path == 99 && found.mode == 0100644 && found.uid == 1000 && found.gid == 1001 && found.links == 2);
    CHECK_EQ(found.size, 5000000000ull);
    CHECK_EQ(found.mtime, 10000000500ull);
    CHECK_EQ(found.ctime, 0);
    memset(bytes + 8 + 13 + 12 + 16, 0xff, 8); /* the size */
    from = (struct p9_reader){.at = bytes, .left = to.size};
    p9_get_attributes(&from, &found);
    CHECK(from.failed);
}
