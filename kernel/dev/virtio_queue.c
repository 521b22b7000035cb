/* The queue of a virtio device. See the header. Slot S has descriptors 2S and 2S + 1. */
#include "kernel/dev/virtio_queue.h"

#define WRITES 2u /* descriptor flags: the device writes the buffer; another descriptor follows */
#define NEXT 1u

_Static_assert(sizeof(struct virtio_rings) <= 4096 && __builtin_offsetof(struct virtio_rings, used) % 4 == 0,
               "one page, aligned");

void virtio_queue_init(struct virtio_queue *queue, struct virtio_rings *rings, uint32_t length)
{
    *queue = (struct virtio_queue){.rings = rings, .length = length};
    queue->free = length / 2 == 64 ? UINT64_MAX : (1ull << length / 2) - 1;
}

uint32_t virtio_queue_next(const struct virtio_queue *queue)
{
    return queue->broken || queue->free == 0 ? VIRTIO_NONE : (uint32_t)__builtin_ctzll(queue->free);
}

uint32_t virtio_queue_put(struct virtio_queue *queue, uint64_t out, uint32_t size, uint64_t in, uint32_t room)
{
    uint32_t slot = virtio_queue_next(queue);
    struct virtio_descriptor *pair;

    if (slot == VIRTIO_NONE)
        return slot;
    pair = &queue->rings->descriptors[2 * slot];
    queue->free &= ~(1ull << slot);
    queue->waiting |= 1ull << slot;
    pair[0] = (struct virtio_descriptor){.address = out, .size = size, .flags = NEXT, .next = (uint16_t)(2 * slot + 1)};
    pair[1] = (struct virtio_descriptor){.address = in, .size = room, .flags = WRITES};
    queue->rings->available.ring[queue->put++ % queue->length] = (uint16_t)(2 * slot);
    /* The device must see the descriptors and the ring entry before the index. The CPU does not reorder stores; the
     * release keeps the compiler from doing so. */
    __atomic_store_n(&queue->rings->available.index, queue->put, __ATOMIC_RELEASE);
    return slot;
}

uint32_t virtio_queue_take(struct virtio_queue *queue, uint32_t *written)
{
    volatile const struct virtio_used *used = &queue->rings->used;
    uint16_t index = __atomic_load_n(&used->index, __ATOMIC_ACQUIRE);
    uint32_t first, slot;

    if (queue->broken || index == queue->taken)
        return VIRTIO_NONE;
    first = used->ring[queue->taken % queue->length].first;
    *written = used->ring[queue->taken % queue->length].written;
    slot = first / 2;
    if (first % 2 != 0 || slot >= queue->length / 2 || (queue->waiting & 1ull << slot) == 0) {
        queue->broken = true;
        return VIRTIO_NONE;
    }
    queue->taken++;
    queue->waiting &= ~(1ull << slot);
    queue->free |= 1ull << slot;
    return slot;
}
