/* References abroad. See the header.
 *
 * The number is in the bits of a frame's note that object_page.c leaves: whoever allocates the frame next finds it
 * cleared, so a frame that never leaves its kernel costs nothing. */
#include "mm/frame/abroad.h"

#include "mm/frame/frame.h"
#include "mm/frame/note.h"

_Static_assert(ABROAD_UNKNOWN == NOTE_ABROAD >> NOTE_ABROAD_SHIFT, "all bits that object_page.c leaves");

static inline uint32_t count_in(uint16_t note)
{
    return (uint32_t)note >> NOTE_ABROAD_SHIFT;
}

static inline uint16_t with_count(uint16_t note, uint32_t count)
{
    return (uint16_t)((note & ~NOTE_ABROAD) | count << NOTE_ABROAD_SHIFT);
}

void abroad_add(uint64_t frame)
{
    uint16_t *note = frame_note(frame), old = __atomic_load_n(note, __ATOMIC_RELAXED);

    while (count_in(old) != ABROAD_UNKNOWN &&
           !__atomic_compare_exchange_n(note, &old, with_count(old, count_in(old) + 1), false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
}

bool abroad_take(uint64_t frame)
{
    uint16_t *note, old;

    if (frame_spaces(frame) == 0)
        return false;
    note = frame_note(frame);
    old = __atomic_load_n(note, __ATOMIC_RELAXED);
    while (count_in(old) != 0 && count_in(old) != ABROAD_UNKNOWN &&
           !__atomic_compare_exchange_n(note, &old, with_count(old, count_in(old) - 1), false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
    return count_in(old) != 0;
}

uint32_t abroad_count(uint64_t frame)
{
    return frame_spaces(frame) != 0 ? count_in(__atomic_load_n(frame_note(frame), __ATOMIC_RELAXED)) : 0;
}

void abroad_set(uint64_t frame, uint32_t count)
{
    uint16_t *note = frame_note(frame), old = __atomic_load_n(note, __ATOMIC_RELAXED);

    count = count < ABROAD_UNKNOWN ? count : ABROAD_UNKNOWN;
    while (!__atomic_compare_exchange_n(note, &old, with_count(old, count), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}
