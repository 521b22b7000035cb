/* How many spaces have the frames of pages that are to move: one message to each owner of such frames. See internal.h.
 */
#include "kernel/abi/errno.h"
#include "mm/area/backing.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "mm/move/internal.h"
#include "mm/move/wire.h"
#include "mm/space/entry.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/request/long_answer.h"

static uint64_t uses_of(uint64_t frame)
{
    uint64_t spaces = frame_spaces(frame);

    return spaces | (spaces != 0 && backing_is_file(frame_object_page(frame)) ? MOVE_OF_FILE : 0);
}

struct uses {
    struct long_answer head;
    uint64_t word[LEAF_ENTRIES];
};

static void handle_uses(const struct msg *m)
{
    const uint64_t *frames = m->data;
    uint32_t count = m->length / sizeof(frames[0]);
    struct uses *uses = NULL;
    int error = m->length % sizeof(frames[0]) != 0 || count == 0 || count > LEAF_ENTRIES ? -EPROTO : 0;

    if (error == 0) {
        uses = long_answer_create(sizeof(*uses));
        error = uses == NULL ? -ENOMEM : 0;
    }
    if (error != 0) {
        msg_reply_error(&m->ticket, error);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        uses->word[i] = uses_of(frames[i]);
    long_answer_send(m, &uses->head, uses->word, count * (uint32_t)sizeof(uses->word[0]));
}

/* Asks KERNEL for its frames among those at WORDS, from FIRST on, which is one of them. ASKED has room for all. */
static int ask_uses(uint32_t kernel, uint64_t *words, uint32_t first, uint32_t count, uint64_t *asked, uint64_t *done)
{
    uint16_t place[LEAF_ENTRIES];
    uint32_t many = 0;
    int length, size;

    for (uint32_t i = first; i < count; i++) {
        if ((done[i / 64] >> i % 64 & 1) != 0 || words[i] == 0 || frame_owner(words[i]) != kernel)
            continue;
        place[many] = (uint16_t)i;
        asked[many++] = words[i];
        done[i / 64] |= 1ull << i % 64;
    }
    size = (int)(many * sizeof(asked[0]));
    length = msg_call(kernel, MSG_FRAME_USES, asked, (uint32_t)size, asked, (uint32_t)size, "count of frames' spaces",
                      words[first]);
    if (length != size)
        return length < 0 ? length : -EPROTO;
    for (uint32_t i = 0; i < many; i++)
        words[place[i]] = asked[i];
    return 0;
}

int move_uses(uint64_t *words, uint32_t count)
{
    uint64_t done[LEAF_ENTRIES / 64] = {0}, *asked = NULL;
    int error = 0;

    for (uint32_t i = 0; i < count && error == 0; i++) {
        uint32_t kernel;

        if ((done[i / 64] >> i % 64 & 1) != 0 || words[i] == 0)
            continue;
        kernel = frame_owner(words[i]);
        if (kernel == instance.kernel) {
            words[i] = uses_of(words[i]);
            continue;
        }
        if (asked == NULL)
            asked = heap_alloc_unset(LEAF_ENTRIES * sizeof(asked[0]));
        error = asked == NULL ? -ENOMEM : ask_uses(kernel, words, i, count, asked, done);
    }
    heap_free(asked, LEAF_ENTRIES * sizeof(asked[0]));
    return error;
}

void move_uses_init(void)
{
    msg_register(MSG_FRAME_USES, handle_uses, 0, sizeof(struct msg_frame_uses));
}
