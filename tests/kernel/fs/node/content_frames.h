/* What the tests of the bytes of files stand on: frames, of this kernel and of a peer, memory and quotas that they
 * count. */
#ifndef TESTS_CONTENT_FRAMES_H
#define TESTS_CONTENT_FRAMES_H

#include "kernel/fs/node/content.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "mm/mempolicy/mempolicy.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#include "tests/stand_in/quota.h"

#define FRAMES 160u
#define FOREIGN_FIRST 96u /* from here on they are another kernel's */
#define ARCHIVE (5 * PAGE_SIZE + 100)

static uint8_t memory[FRAMES][PAGE_SIZE];
static uint32_t spaces[FRAMES]; /* UINT32_MAX: free */
static uint8_t archive[ARCHIVE];

static inline uint32_t number_of(uint64_t frame)
{
    CHECK(frame >= PAGE_SIZE && frame < (FRAMES + 1) * PAGE_SIZE && frame % PAGE_SIZE == 0);
    return (uint32_t)(frame / PAGE_SIZE) - 1;
}

void *window_direct(uint64_t pa)
{
    CHECK(number_of(pa) < FOREIGN_FIRST);
    return memory[number_of(pa)];
}

uint64_t mempolicy_frame_near(bool zeroed)
{
    for (uint32_t i = 0; i < FOREIGN_FIRST; i++) {
        if (spaces[i] == UINT32_MAX) {
            spaces[i] = 0;
            memset(memory[i], zeroed ? 0 : 0xee, PAGE_SIZE);
            return (i + 1) * PAGE_SIZE;
        }
    }
    return 0;
}

void frame_share(uint64_t frame)
{
    CHECK(spaces[number_of(frame)] != UINT32_MAX);
    spaces[number_of(frame)]++;
}

void frame_release(uint64_t frame)
{
    CHECK(spaces[number_of(frame)] != UINT32_MAX && spaces[number_of(frame)] > 0);
    if (--spaces[number_of(frame)] == 0)
        spaces[number_of(frame)] = UINT32_MAX;
}

#define PEER 5u

static inline bool is_foreign(uint64_t frame)
{
    return number_of(frame) >= FOREIGN_FIRST;
}

uint32_t frame_owner(uint64_t frame)
{
    return is_foreign(frame) ? PEER : 0;
}

bool window_owns(uint64_t pa, uint64_t size)
{
    CHECK_EQ(size, PAGE_SIZE);
    return !is_foreign(pa);
}

void frame_bytes(uint64_t frame, uint32_t offset, void *bytes, uint32_t size, bool write)
{
    CHECK(is_foreign(frame) && offset + size <= PAGE_SIZE);
    if (write)
        memcpy(memory[number_of(frame)] + offset, bytes, size);
    else
        memcpy(bytes, memory[number_of(frame)] + offset, size);
}

void frame_clear(uint64_t frame, uint32_t offset, uint32_t size)
{
    CHECK(is_foreign(frame) && offset + size <= PAGE_SIZE);
    memset(memory[number_of(frame)] + offset, 0, size);
}

void frame_reference_drop(struct frame_reference *reference)
{
    CHECK(is_foreign(reference->frame));
    frame_release(reference->frame);
    heap_free(reference, sizeof(*reference));
}

uint32_t frame_spaces(uint64_t frame)
{
    return spaces[number_of(frame)];
}

static uint64_t names[FRAMES];

uint64_t frame_object_page(uint64_t frame)
{
    return names[number_of(frame)];
}

bool frame_set_object_page(uint64_t frame, uint64_t backing)
{
    names[number_of(frame)] = backing;
    return true;
}

static inline uint32_t frames_used(void)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < FRAMES; i++)
        used += spaces[i] != UINT32_MAX;
    return used;
}

static inline void begin(void)
{
    memset(quota_counts, 0, sizeof(quota_counts));
    quota_unlimited = 1u << QUOTA_FILE_BYTES;
    memset(spaces, 0xff, sizeof(spaces));
    heap_objects = 0;
    heap_left = -1;
    for (size_t i = 0; i < sizeof(archive); i++)
        archive[i] = (uint8_t)(1 + i % 251);
}

/* All that the file had is given back. */
static inline void end(struct content *content)
{
    CHECK_EQ(quota_counts[QUOTA_FILE_PAGES], content_charged(content));
    CHECK_EQ(quota_counts[QUOTA_FILE_BYTES], content_table_bytes(content));
    content_free(&content->tree, NULL);
    CHECK_EQ(frames_used(), 0);
    CHECK_EQ(heap_objects, 0);
}

static inline void resize(struct content *content, uint64_t size)
{
    struct page_tree cut = {0};

    CHECK_EQ(content_resize(content, size, &cut), 0);
    content_free(&cut, NULL);
}

/* A new frame of the peer, or of this kernel, with one reference. */
static inline uint64_t new_frame(bool foreign)
{
    for (uint32_t i = foreign ? FOREIGN_FIRST : 0; i < (foreign ? FRAMES : FOREIGN_FIRST); i++) {
        if (spaces[i] == UINT32_MAX) {
            spaces[i] = 1;
            return (i + 1) * PAGE_SIZE;
        }
    }
    return 0;
}

static inline struct frame_reference *reference_to(uint64_t frame)
{
    struct frame_reference *reference;

    heap_left += heap_left >= 0;
    reference = heap_alloc(sizeof(*reference));
    reference->frame = frame;
    return reference;
}

/* Page PAGE, whose frame is OLD and moves, gets a copy in FRAME. */
static inline bool move(struct content *content, uint64_t page, uint64_t old, uint64_t frame)
{
    memcpy(memory[number_of(frame)], memory[number_of(old)], PAGE_SIZE);
    return content_move_end(content, page, old, reference_to(frame));
}

#endif
