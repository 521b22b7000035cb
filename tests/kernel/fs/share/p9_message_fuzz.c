/* Any bytes as the answer of a 9P server: nothing is read that did not come, and what is given out makes sense. The
 * first byte says what was asked.
 * sources: kernel/fs/share/p9_message.c
 * runs: 600000 */
#include "kernel/abi/errno.h"
#include "kernel/fs/share/p9_message.h"
#include "tests/fuzz/fuzz.h"

static const uint8_t types[] = {P9_WALK,      P9_READ,   P9_READ_DIRECTORY, P9_GET_ATTRIBUTES,
                                P9_READ_LINK, P9_STATFS, P9_VERSION,        P9_CLUNK};

/* A piece of the answer of its own, so that the sanitizer sees a byte too far. */
static uint8_t *copy(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size > 0 ? size : 1);

    REQUIRE(bytes);
    memcpy(bytes, data, size);
    return bytes;
}

static void read_directory(const uint8_t *data, uint32_t size)
{
    uint8_t *bytes = copy(data, size);
    struct p9_reader from = {.at = bytes, .left = size};
    struct p9_entry entry;
    uint32_t before = from.left;

    while (p9_get_entry(&from, &entry)) {
        REQUIRE(from.left < before);
        before = from.left;
        REQUIRE(entry.length > 0 && entry.length <= P9_NAME_MAX && entry.next <= INT64_MAX);
        REQUIRE(memchr(entry.name, '/', entry.length) == NULL && memchr(entry.name, 0, entry.length) == NULL);
    }
    free(bytes);
}

static void read_answer(uint8_t type, struct p9_reader *from)
{
    struct p9_attributes attributes;
    struct p9_space space;
    struct p9_qid qid;
    const uint8_t *bytes;
    const char *text;
    uint16_t length;
    uint32_t size;

    switch (type) {
    case P9_WALK:
        for (uint16_t count = p9_get16(from); count > 0 && !from->failed; count--)
            p9_get_qid(from, &qid);
        break;
    case P9_READ:
    case P9_READ_DIRECTORY:
        bytes = p9_get_bytes(from, 4096, &size);
        REQUIRE((bytes == NULL) == from->failed && size <= 4096);
        if (bytes != NULL)
            read_directory(bytes, size);
        break;
    case P9_GET_ATTRIBUTES:
        p9_get_attributes(from, &attributes);
        REQUIRE(from->failed || attributes.size <= INT64_MAX);
        break;
    case P9_VERSION:
        p9_get32(from);
        /* fall through */
    case P9_READ_LINK:
        text = p9_get_text(from, &length);
        REQUIRE((text == NULL) == from->failed);
        if (text != NULL)
            free(copy((const uint8_t *)text, length));
        break;
    default:
        p9_get_space(from, &space);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t request[P9_HEADER] = {P9_HEADER}, *bytes;
    struct p9_reader from;
    int error;

    if (size == 0)
        return 0;
    request[4] = types[data[0] % sizeof(types)];
    bytes = copy(data + 1, size - 1);
    error = p9_open_answer(&from, bytes, (uint32_t)(size - 1), request);
    REQUIRE(error <= 0 && error >= -4095);
    if (error == 0) {
        REQUIRE(from.at == bytes + P9_HEADER && from.left <= size - 1 - P9_HEADER);
        read_answer(request[4], &from);
    }
    free(bytes);
    return 0;
}
