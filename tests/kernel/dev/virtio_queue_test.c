/* The queue of a virtio device, with a device that plays by the rules, and one that does not.
 * sources: kernel/dev/virtio_queue.c */
#include "kernel/dev/virtio_queue.h"

#include "tests/test.h"

static struct virtio_rings rings;
static struct virtio_queue queue;

static void begin(uint32_t length)
{
    memset(&rings, 0, sizeof(rings));
    virtio_queue_init(&queue, &rings, length);
}

/* The device gives back what begins with descriptor FIRST. */
static void give(uint32_t first, uint32_t written)
{
    uint32_t at = rings.used.index % queue.length;

    rings.used.ring[at].first = first;
    rings.used.ring[at].written = written;
    rings.used.index++;
}

TEST(queue_request, "a request is a piece to be read, then one to be written, and the device finds it")
{
    uint32_t slot, first;

    begin(128);
    slot = virtio_queue_put(&queue, 0x1000, 7, 0x2000, 100);
    CHECK(slot != VIRTIO_NONE);
    CHECK_EQ(rings.available.index, 1);
    first = rings.available.ring[0];
    CHECK_EQ(first, 2 * slot);
    CHECK(rings.descriptors[first].address == 0x1000 && rings.descriptors[first].size == 7);
    CHECK(rings.descriptors[first].flags == 1 && rings.descriptors[first].next == first + 1);
    CHECK(rings.descriptors[first + 1].address == 0x2000 && rings.descriptors[first + 1].size == 100);
    CHECK_EQ(rings.descriptors[first + 1].flags, 2);
}

TEST(queue_answer, "what the device gives back is taken once, in any order, and its slot used again")
{
    uint32_t slots[3], written;

    begin(8);
    for (int i = 0; i < 3; i++)
        slots[i] = virtio_queue_put(&queue, 1, 1, 2, 1);
    CHECK_EQ(virtio_queue_take(&queue, &written), VIRTIO_NONE);
    give(2 * slots[2], 30);
    give(2 * slots[0], 10);
    CHECK(virtio_queue_take(&queue, &written) == slots[2] && written == 30);
    CHECK(virtio_queue_take(&queue, &written) == slots[0] && written == 10);
    CHECK_EQ(virtio_queue_take(&queue, &written), VIRTIO_NONE);
    CHECK_EQ(virtio_queue_put(&queue, 1, 1, 2, 1), slots[0]);
}

TEST(queue_full, "a full queue takes no more until something was given back, for any length and count")
{
    for (uint32_t length = 2; length <= VIRTIO_RING; length *= 2) {
        uint32_t written, most = length / 2;

        begin(length);
        for (uint32_t turn = 0; turn < 70000 / most; turn++) { /* the counts wrap around */
            for (uint32_t i = 0; i < most; i++)
                CHECK(virtio_queue_put(&queue, i, 1, 2, 1) != VIRTIO_NONE);
            CHECK_EQ(virtio_queue_next(&queue), VIRTIO_NONE);
            CHECK_EQ(virtio_queue_put(&queue, 1, 1, 2, 1), VIRTIO_NONE);
            for (uint32_t i = 0; i < most; i++)
                give(rings.available.ring[(uint16_t)(turn * most + i) % length], i);
            for (uint32_t i = 0; i < most; i++)
                CHECK(virtio_queue_take(&queue, &written) != VIRTIO_NONE && written == i);
        }
    }
}

TEST(queue_liar, "a device that gives back what it has not got breaks the queue, for good")
{
    static const uint32_t wrong[] = {1, 2, 126, 128, 129, 0x80000000u, UINT32_MAX};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint32_t written, slot;

        begin(128);
        slot = virtio_queue_put(&queue, 1, 1, 2, 1);
        CHECK_EQ(slot, 0);
        give(wrong[i], 1);
        CHECK_EQ(virtio_queue_take(&queue, &written), VIRTIO_NONE);
        CHECK(queue.broken);
        give(0, 1);
        CHECK_EQ(virtio_queue_take(&queue, &written), VIRTIO_NONE);
        CHECK_EQ(virtio_queue_put(&queue, 1, 1, 2, 1), VIRTIO_NONE);
    }
}

TEST(queue_twice, "nothing is given back twice; a count that jumps is not followed far")
{
    uint32_t written;

    begin(128);
    virtio_queue_put(&queue, 1, 1, 2, 1);
    give(0, 1);
    give(0, 1);
    CHECK_EQ(virtio_queue_take(&queue, &written), 0);
    CHECK_EQ(virtio_queue_take(&queue, &written), VIRTIO_NONE);
    CHECK(queue.broken);
    begin(128);
    virtio_queue_put(&queue, 1, 1, 2, 1);
    rings.used.index = 60000; /* all entries name descriptor 0 */
    CHECK_EQ(virtio_queue_take(&queue, &written), 0);
    CHECK_EQ(virtio_queue_take(&queue, &written), VIRTIO_NONE);
    CHECK(queue.broken);
}
