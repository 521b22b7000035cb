/* References that other kernels have. Frames' notes and counts are pretended. */
#include "mm/frame/abroad.c"

#include <stdint.h>

#include "tests/test.h"

#define FRAME 0x5000ull

static uint16_t note_of_frame;
static uint32_t spaces;

uint16_t *frame_note(uint64_t frame)
{
    CHECK_EQ(frame, FRAME);
    return &note_of_frame;
}

uint32_t frame_spaces(uint64_t frame)
{
    return frame == FRAME ? spaces : 0;
}

TEST(abroad, "what was given to peers comes back as often as it was given, and not once more")
{
    spaces = 3;
    note_of_frame = NOTE_NAMED;
    CHECK(!abroad_take(FRAME));
    abroad_add(FRAME);
    abroad_add(FRAME);
    CHECK_EQ(abroad_count(FRAME), 2);
    CHECK(abroad_take(FRAME));
    CHECK(abroad_take(FRAME));
    CHECK(!abroad_take(FRAME));
    CHECK_EQ(note_of_frame, NOTE_NAMED); /* the other bits of the note stay */
    CHECK(!abroad_take(FRAME + PAGE_SIZE));
    abroad_set(FRAME, 1);
    CHECK_EQ(abroad_count(FRAME), 1);
    spaces = 0;
    CHECK(!abroad_take(FRAME)); /* free: whatever its note says is the heap's, or old */
    CHECK_EQ(abroad_count(FRAME), 0);
}

TEST(abroad_unknown, "of a frame of which too many are abroad, any number may come back")
{
    spaces = UINT32_MAX;
    note_of_frame = 0;
    abroad_set(FRAME, ABROAD_UNKNOWN - 1);
    CHECK(abroad_take(FRAME));
    abroad_add(FRAME);
    abroad_add(FRAME);
    abroad_add(FRAME);
    for (int i = 0; i < 10; i++)
        CHECK(abroad_take(FRAME));
    CHECK_EQ(abroad_count(FRAME), ABROAD_UNKNOWN);
    CHECK_EQ(note_of_frame, NOTE_ABROAD);
    abroad_set(FRAME, UINT32_MAX);
    CHECK_EQ(abroad_count(FRAME), ABROAD_UNKNOWN);
    abroad_set(FRAME, 0);
    CHECK_EQ(abroad_count(FRAME), 0);
}
