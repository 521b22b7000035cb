/* The header of a message. */
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
    CHECK_EQ(word >> 62, 0);
    CHECK(msg_header_pack(&out) == word);
}

TEST(header_each_field, "each field alone, over all its values, comes back and touches no other")
{
    for (uint32_t i = 0; i <= UINT8_MAX; i++) {
        check_round(&(struct msg_header){.type = (uint8_t)i});
        check_round(&(struct msg_header){.source = (uint8_t)i});
    }
    for (uint32_t i = 0; i <= UINT16_MAX; i++)
        check_round(&(struct msg_header){.request = (uint16_t)i});
    for (uint32_t i = 0; i <= MSG_MAX; i++)
        check_round(&(struct msg_header){.length = i});
    for (uint32_t i = 0; i <= MSG_MAX / MSG_SHORT; i++)
        check_round(&(struct msg_header){.fragment = (uint16_t)i});
    check_round(&(struct msg_header){.reply = true});
    check_round(&(struct msg_header){.error = true});
}

TEST(header_all_ones, "all fields at their greatest at once come back")
{
    check_round(&(struct msg_header){.type = UINT8_MAX,
                                     .source = UINT8_MAX,
                                     .request = UINT16_MAX,
                                     .length = 0x1ffff,
                                     .fragment = 0x7ff,
                                     .reply = true,
                                     .error = true});
}

TEST(header_random, "random headers come back")
{
    uint64_t state = 1;

    for (int i = 0; i < 100000; i++)
        check_round(&(struct msg_header){.type = (uint8_t)test_random(&state),
                                         .source = (uint8_t)test_random(&state),
                                         .request = (uint16_t)test_random(&state),
                                         .length = (uint32_t)test_below(&state, 0x20000),
                                         .fragment = (uint16_t)test_below(&state, 0x800),
                                         .reply = test_below(&state, 2) != 0,
                                         .error = test_below(&state, 2) != 0});
}

TEST(header_any_word, "any word from the wire unpacks to fields that pack to the same word but for its two unused bits")
{
    uint64_t state = 2;

    for (int i = 0; i < 100000; i++) {
        uint64_t word = test_random(&state);
        struct msg_header header;

        msg_header_unpack(word, &header);
        CHECK(msg_header_pack(&header) == (word & ~(3ull << 62)));
    }
}

TEST(header_room, "the greatest message fits the fields of its header")
{
    CHECK(MSG_MAX <= 0x1ffff);
    CHECK((MSG_MAX - 1) / MSG_SHORT <= 0x7ff);
}

TEST(message_numbers, "the table's numbers are unique and below MSG_TYPES")
{
    static const uint32_t numbers[] = {
#define REQUEST(number, name, request, reply, size, meaning) number,
#define NOTICE(number, name, payload, size, meaning) number,
#define RETIRED(number) number,
#include "msg/messages.def"
#undef REQUEST
#undef NOTICE
#undef RETIRED
    };
    uint64_t seen = 0;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        CHECK(numbers[i] > 0 && numbers[i] < MSG_TYPES);
        CHECK((seen >> numbers[i] & 1) == 0);
        seen |= 1ull << numbers[i];
    }
}
