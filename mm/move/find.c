/* What a space has at the pages that are to move: here, at the home in one request, or on other kernels page by page,
 * by the retrieval strategy. See internal.h. */
#include "kernel/abi/errno.h"
#include "mm/area/backing.h"
#include "mm/frame/reference.h"
#include "mm/move/internal.h"
#include "mm/move/wire.h"
#include "mm/page/replica.h"
#include "mm/page/zero_page.h"
#include "mm/space/entry.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/request/long_answer.h"
#include "msg/slice.h"

static uint64_t bits_of(uint32_t prot, uint64_t backing)
{
    return ((prot & AREA_SHARED) != 0 ? MOVE_SHARED : 0) | (backing_is_file(backing) ? MOVE_FILE : 0);
}

/* What this kernel has. The pages of the vDSO are left out, as if there were no area: the kernel writes the clock
 * there, and a copy of them would stand still. */
static void look(struct space *space, uint64_t start, uint64_t count, uint64_t *words)
{
    const struct area *area = NULL;
    const uint64_t *entry;
    bool movable;

    spin_lock(&space->lock);
    replicas_drop_locked(space, start, start + count * PAGE_SIZE);
    entry = paging_look(&space->tables, start);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t page = start + i * PAGE_SIZE, seen = entry != NULL ? entry[i] : 0;

        if (area == NULL || page >= area->end)
            area = area_find(&space->areas, page);
        movable = area != NULL && !backing_stays(area->backing);
        words[i] = movable ? bits_of(area->prot, area->backing) : 0;
        if (movable && seen != 0 && (seen & PAGING_SOFT_PENDING_FREE) == 0 && !zero_page_is(seen))
            words[i] |= (seen & PAGING_FRAME) | ((seen & PAGING_SOFT_COW) != 0 ? MOVE_COW : 0) |
                        ((seen & PAGING_SOFT_MARKED) != 0 ? MOVE_MARKED : 0);
    }
    spin_unlock(&space->lock);
}

/* --- the home's answer --- */

struct words {
    struct long_answer head;
    uint64_t word[LEAF_ENTRIES];
};

static bool is_valid(const struct msg_space_frames *ask)
{
    return (ask->start & (PAGE_SIZE - 1)) == 0 && ask->start < USER_END && ask->count > 0 &&
           ask->count <= LEAF_ENTRIES - paging_index(ask->start);
}

static void handle_frames(const struct msg *m)
{
    const struct msg_space_frames *ask = m->data;
    struct space *space = space_get(ask->space);
    struct words *words = NULL;
    int error = space == NULL ? -ESRCH : space->home != instance.kernel || !is_valid(ask) ? -EPROTO : 0;

    if (error == 0) {
        words = long_answer_create(sizeof(*words));
        error = words == NULL ? -ENOMEM : 0;
    }
    if (error == 0) {
        look(space, ask->start, ask->count, words->word);
        long_answer_send(m, &words->head, words->word, (uint32_t)(ask->count * sizeof(words->word[0])));
    } else {
        msg_reply_error(&m->ticket, error);
    }
    if (space != NULL)
        space_put(space);
}

void move_find_init(void)
{
    msg_register(MSG_SPACE_FRAMES, handle_frames, sizeof(struct msg_space_frames), sizeof(struct msg_space_word));
    move_uses_init();
}

/* --- the mover --- */

static int ask_home(struct space *space, uint64_t start, uint32_t count, uint64_t *words)
{
    struct msg_space_frames ask = {space->id, start, count};
    int size = (int)(count * sizeof(words[0]));
    int length = msg_call(space->home, MSG_SPACE_FRAMES, &ask, sizeof(ask), words, (uint32_t)size,
                          "frames of pages that move", start);

    if (length != size)
        return length < 0 ? length : -EPROTO;
    for (uint32_t i = 0; i < count; i++) {
        if ((words[i] & PAGING_FRAME) != 0 && frame_owner(words[i] & PAGING_FRAME) == KERNELS_MAX)
            return -EPROTO;
    }
    return 0;
}

static int ask_others(struct space *space, uint64_t page, uint64_t *word)
{
    struct msg_space_mapping answer;
    int error = space->retrieval->fetch(space, page, &answer);

    if (error != 0 && answer.kind != SPACE_FRAME)
        return -ENOMEM;
    if (answer.kind == SPACE_NONE || backing_stays(answer.backing))
        return 0;
    *word = bits_of(answer.prot, answer.backing);
    if (answer.kind != SPACE_FRAME)
        return 0;
    if (!frame_exists(answer.frame))
        return -EPROTO;
    *word |= answer.frame | (answer.cow != 0 ? MOVE_COW : 0);
    return 0;
}

int move_find(struct space *space, uint64_t start, uint32_t count, uint64_t *words)
{
    bool directory = space->retrieval->home_knows, missing = false;
    int error = 0;

    look(space, start, count, words);
    for (uint32_t i = 0; i < count && error == 0; i++) {
        if ((words[i] & PAGING_FRAME) != 0)
            continue;
        missing = true;
        if (directory)
            break;
        error = ask_others(space, start + i * PAGE_SIZE, &words[i]);
        slice_check();
    }
    if (missing && directory && space->home != instance.kernel)
        error = ask_home(space, start, count, words);
    return error;
}
