/* The header of a message, and the table of messages.
 * sources: msg/message.c */
#include "msg/message.h"

#include "tests/test.h"

static void check_round(const struct msg_header *in)
{
    struct msg_header out;
    uint64_t word = msg_header_pack(in);

    memset(&out, 0xaa, sizeof(out));
    msg_header_unpack(word, &out);
    CHECK_EQ(out.type, in->type);
    CHECK_EQ(out.source, in->source);
    CHECK_EQ(out.request, in->request);
    CHECK_EQ(out.length, in->length);
    CHECK_EQ(out.fragment, in->fragment);
    CHECK_EQ(out.reply, in->reply);
    CHECK_EQ(out.error, in->error);
    CHECK_EQ(out.kept, in->kept);
    CHECK_EQ(word & MSG_ZERO_BITS, 0);
    CHECK_EQ(msg_header_length(word), in->length);
    CHECK(msg_header_pack(&out) == word);
}

TEST(header_each_field, "each field alone, over all its values, comes back and touches no other")
{
    for (uint32_t i = 0; i < MSG_TYPES; i++)
        check_round(&(struct msg_header){.type = (uint16_t)i});
    for (uint32_t i = 0; i < KERNELS_MAX; i++)
        check_round(&(struct msg_header){.source = (uint8_t)i});
    for (uint32_t i = 0; i <= UINT16_MAX; i++)
        check_round(&(struct msg_header){.request = (uint16_t)i});
    for (uint32_t i = 0; i <= MSG_MAX; i++)
        check_round(&(struct msg_header){.length = i});
    for (uint32_t i = 0; i <= MSG_MAX / MSG_SHORT; i++)
        check_round(&(struct msg_header){.fragment = (uint16_t)i});
    check_round(&(struct msg_header){.reply = true});
    check_round(&(struct msg_header){.error = true});
    check_round(&(struct msg_header){.kept = true});
}

TEST(header_places, "the fields lie where msg/PROTOCOL.md says")
{
    CHECK_EQ(msg_header_pack(&(struct msg_header){.type = 511}), 0x1ff);
    CHECK_EQ(msg_header_pack(&(struct msg_header){.reply = true}), 1ull << 9);
    CHECK_EQ(msg_header_pack(&(struct msg_header){.source = 63}), 0x3full << 10);
    CHECK_EQ(msg_header_pack(&(struct msg_header){.request = UINT16_MAX}), 0xffffull << 16);
    CHECK_EQ(msg_header_pack(&(struct msg_header){.length = MSG_MAX}), (uint64_t)MSG_MAX << 32);
    CHECK_EQ(msg_header_pack(&(struct msg_header){.fragment = 0x7ff}), 0x7ffull << 49);
    CHECK_EQ(msg_header_pack(&(struct msg_header){.error = true}), 1ull << 60);
    CHECK_EQ(msg_header_pack(&(struct msg_header){.kept = true}), 1ull << 61);
}

TEST(header_all_ones, "all fields at their greatest at once come back")
{
    check_round(&(struct msg_header){.type = MSG_TYPES - 1,
                                     .source = KERNELS_MAX - 1,
                                     .request = UINT16_MAX,
                                     .length = 0x1ffff,
                                     .fragment = 0x7ff,
                                     .reply = true,
                                     .error = true,
                                     .kept = true});
}

TEST(header_random, "random headers come back")
{
    uint64_t state = 1;

    for (int i = 0; i < 100000; i++)
        check_round(&(struct msg_header){.type = (uint16_t)test_below(&state, MSG_TYPES),
                                         .source = (uint8_t)test_below(&state, KERNELS_MAX),
                                         .request = (uint16_t)test_random(&state),
                                         .length = (uint32_t)test_below(&state, 0x20000),
                                         .fragment = (uint16_t)test_below(&state, 0x800),
                                         .reply = test_below(&state, 2) != 0,
                                         .error = test_below(&state, 2) != 0,
                                         .kept = test_below(&state, 2) != 0});
}

TEST(header_any_word, "any word from the wire unpacks to fields that pack to the same word but for its two unused bits")
{
    uint64_t state = 2;

    for (int i = 0; i < 100000; i++) {
        uint64_t word = test_random(&state);
        struct msg_header header;

        msg_header_unpack(word, &header);
        CHECK(msg_header_pack(&header) == (word & ~MSG_ZERO_BITS));
    }
}

TEST(header_room, "the greatest message fits the fields of its header")
{
    CHECK(MSG_MAX <= 0x1ffff);
    CHECK((MSG_MAX - 1) / MSG_SHORT <= 0x7ff);
}

TEST(message_numbers, "the table's numbers are unique, from 1, below MSG_TYPES")
{
    static const uint32_t numbers[] = {
#define REQUEST(number, name, request, reply, class, size, reply_size, meaning) number,
#define NOTICE(number, name, payload, class, size, meaning) number,
#define RETIRED(number) number,
#include "msg/messages.def"
#undef REQUEST
#undef NOTICE
#undef RETIRED
    };
    bool seen[MSG_TYPES] = {false};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        CHECK(numbers[i] > 0 && numbers[i] < MSG_TYPES);
        CHECK(!seen[numbers[i]]);
        seen[numbers[i]] = true;
    }
}

TEST(message_kinds, "a row of the table is found by its number; retired numbers and those never used have none")
{
    uint32_t named = 0;

    for (uint32_t i = 0; i < MSG_TYPES; i++)
        named += msg_kinds[i].name != NULL;
#define REQUEST(number, id, request, reply, which, size, reply_size, meaning)                                          \
    CHECK_TEXT(msg_kinds[MSG_##id].name, #id);                                                                         \
    CHECK(!msg_kinds[MSG_##id].notice && msg_kinds[MSG_##id].class == MSG_##which);                                    \
    CHECK_TEXT(msg_kinds[MSG_##id].bytes ? "BYTES" : "FIXED", #size);                                                  \
    CHECK_TEXT(msg_kinds[MSG_##id].reply_bytes ? "BYTES" : "FIXED", #reply_size);                                      \
    named--;
#define NOTICE(number, id, payload, which, size, meaning)                                                              \
    CHECK_TEXT(msg_kinds[MSG_##id].name, #id);                                                                         \
    CHECK(msg_kinds[MSG_##id].notice &&msg_kinds[MSG_##id].class == MSG_##which);                                      \
    CHECK_TEXT(msg_kinds[MSG_##id].bytes ? "BYTES" : "FIXED", #size);                                                  \
    named--;
#define RETIRED(number) CHECK(msg_kinds[number].name == NULL);
#include "msg/messages.def"
#undef REQUEST
#undef NOTICE
#undef RETIRED
    CHECK_EQ(named, 0);
    CHECK(msg_kinds[0].name == NULL);
}
