/* New pages of files: what the file's kernel does with a frame that is sent along when the page is a hole again, and
 * that it gives up what it can do without before a strict policy fails, for itself and for another kernel.
 * sources: mm/file/page.c */
#include "mm/file/page.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "mm/area/backing.h"
#include "mm/file/kept_page.h"
#include "mm/file/move.h"
#include "mm/file/object.h"
#include "mm/file/policy.h"
#include "mm/file/wire.h"
#include "mm/frame/abroad.h"
#include "mm/frame/frame.h"
#include "mm/frame/give.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "tests/stand_in/messages.h"
#include "tests/test.h"

#define FILES 0u /* the file's kernel */
#define ASKER 1u
#define OWN_FRAME PAGE_SIZE
#define SENT_FRAME (2 * PAGE_SIZE) /* of ASKER */
#define BACKING backing_make(FILES, 7, 3)

struct instance instance;

static uint64_t page;      /* the frame of the file's page; 0: a hole */
static uint32_t holes;     /* how often the page is a hole again after a look for its frame */
static uint32_t idle;      /* frames that the file's kernel can do without */
static bool strict;        /* the policy of the page, which is bound to the file's kernel */
static bool other_answers; /* ASKER is reachable */
static uint32_t asked;

/* The file's kernel has no other memory than what is idle. */
int file_object_page(uint64_t backing, struct file_want *want, uint64_t *frame)
{
    CHECK_EQ(backing, BACKING);
    if (page == 0 && (want->placed || (want->last && idle > 0))) {
        page = OWN_FRAME;
        idle = 0;
    }
    if (page == 0) {
        want->elsewhere = (struct placement){.nodes = 1, .strict = strict};
        return -EXDEV;
    }
    *frame = page;
    return page == OWN_FRAME ? 0 : 1;
}

int file_object_take(uint64_t backing, bool written, uint64_t frame)
{
    (void)written;
    CHECK_EQ(backing, BACKING);
    if (holes > 0) { /* it has a frame now, which is cut off at once */
        holes--;
        return 0;
    }
    if (page != 0)
        return 0;
    page = frame;
    return 1;
}

uint64_t file_object_resident(uint64_t backing, uint32_t count)
{
    (void)backing;
    (void)count;
    return 0;
}

uint64_t mempolicy_frame_placed(const struct placement *where)
{
    CHECK(where->strict == strict);
    return 0;
}

uint64_t frame_from_peer(uint64_t source)
{
    (void)source;
    return 0;
}

void mempolicy_place(const struct policy *policy, uint64_t index, uint32_t centre, struct placement *out)
{
    (void)policy;
    (void)index;
    *out = (struct placement){.nodes = 1, .centre = centre, .strict = strict};
}

uint32_t mempolicy_own_node(void)
{
    return 0;
}

uint64_t policy_machine_nodes(void)
{
    return 3;
}

uint32_t frame_owner(uint64_t frame)
{
    return frame == SENT_FRAME ? ASKER : FILES;
}

bool window_owns(uint64_t pa, uint64_t size)
{
    (void)size;
    return frame_owner(pa) == instance.kernel;
}

void frame_share(uint64_t frame)
{
    (void)frame;
}

void release_one(uint64_t frame)
{
    (void)frame;
}

int share_frames(uint32_t kernel, const uint64_t *frames, uint32_t count)
{
    (void)kernel;
    (void)frames;
    (void)count;
    return 0;
}

void abroad_add(uint64_t frame)
{
    (void)frame;
}

bool abroad_take(uint64_t frame)
{
    (void)frame;
    return true;
}

bool frame_set_object_page(uint64_t frame, uint64_t backing)
{
    (void)frame;
    (void)backing;
    return true;
}

bool msg_peer_reachable(uint32_t kernel)
{
    return kernel == FILES || other_answers;
}

/* ASKER's request reaches the file's kernel. */
int msg_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *reply, uint32_t room,
             const char *why, uint64_t key)
{
    int error;

    (void)length;
    (void)room;
    (void)why;
    (void)key;
    CHECK(kernel == FILES && type == MSG_FILE_PAGE);
    asked++;
    instance.kernel = FILES;
    error = reply != NULL ? file_page_find(data, reply) : -EINVAL;
    instance.kernel = ASKER;
    return error != 0 ? error : (int)sizeof(struct msg_file_paged);
}

void file_move_wait(uint64_t backing)
{
    (void)backing;
}

void file_page_keep(const struct msg *m, const struct msg_file_page *ask)
{
    (void)m;
    (void)ask;
    CHECK(false);
}

void file_move_init(void)
{
}

void file_policy_init(void)
{
}

static void begin(uint32_t kernel, bool is_strict)
{
    instance.kernel = kernel;
    page = holes = idle = asked = 0;
    strict = is_strict;
    other_answers = true;
}

TEST(page_again, "a page that is a hole again gets the frame that was sent, or any if the policy is not strict")
{
    for (int turn = 0; turn < 2; turn++) {
        struct msg_file_page ask = {
            .backing = BACKING, .frame = SENT_FRAME, .nodes = 2, .placed = 1, .strict = turn == 0};
        struct msg_file_paged answer;

        begin(FILES, turn == 0);
        holes = 3;
        CHECK_EQ(file_page_find(&ask, &answer), 0);
        CHECK_EQ(answer.kind, turn == 0 ? FILE_PAGED_TAKEN : FILE_PAGED);
        CHECK(answer.frame == (turn == 0 ? SENT_FRAME : OWN_FRAME) && page == answer.frame);
    }
}

TEST(page_owner, "a frame whose owner has died is not taken")
{
    struct msg_file_page ask = {.backing = BACKING, .frame = SENT_FRAME, .nodes = 2, .placed = 1};
    struct msg_file_paged answer;

    begin(FILES, false);
    other_answers = false;
    CHECK_EQ(file_page_find(&ask, &answer), -EPROTO);
    CHECK_EQ(page, 0);
}

TEST(page_last, "before a strict policy fails, the file's kernel gives up what it can do without")
{
    for (uint32_t kernel = FILES; kernel <= ASKER; kernel++) {
        uint64_t frame = 0;

        begin(kernel, true);
        CHECK_EQ(file_page_get(BACKING, 0, true, &frame), -ENOMEM);
        CHECK(page == 0 && (kernel == FILES || asked == 2));
        idle = 1;
        CHECK_EQ(file_page_get(BACKING, 0, true, &frame), 0);
        CHECK(frame == OWN_FRAME && page == OWN_FRAME);
    }
}
