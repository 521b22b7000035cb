/* 9P devices. See the header. */
#include "kernel/dev/virtio_9p.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/dev/virtio.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

#define DEVICE_MODERN 0x1049u /* 0x1040 plus the device number, 9 */
#define DEVICE_OLD 0x1009u    /* a device that has the legacy interface, too */
#define FEATURE_TAG 1ull      /* the device's configuration has a tag */
#define TAG_AT 5u             /* offset of the tag in a message */

struct virtio_9p {
    struct virtio_9p *next; /* [i] */
    char tag[VIRTIO_9P_TAG_MAX];
    struct spinlock lock;
    struct virtio virtio;                       /* [k] */
    struct list waiting;                        /* [k] requests that wait for a slot */
    struct virtio_9p_request *at[VIRTIO_SLOTS]; /* [k] requests at the device, by slot */
};

static struct virtio_9p *devices; /* [i] after the enumeration */

static uint64_t physical(const void *object)
{
    return (uint64_t)(uintptr_t)object - (uint64_t)(uintptr_t)window_direct(0);
}

/* --- requests --- */

/* Gives the device as many waiting requests as it has slots for. */
static void send_locked(struct virtio_9p *device)
{
    bool ring = false;

    while (!list_empty(&device->waiting)) {
        struct virtio_9p_request *request = container_of(device->waiting.next, struct virtio_9p_request, node);
        uint32_t slot = virtio_queue_next(&device->virtio.queue);

        if (slot == VIRTIO_NONE)
            break;
        list_remove(&request->node);
        device->at[slot] = request;
        if (!request->tagless) {
            request->out[TAG_AT] = (uint8_t)slot;
            request->out[TAG_AT + 1] = 0;
        }
        virtio_queue_put(&device->virtio.queue, physical(request->out), request->size, physical(request->in),
                         request->room);
        ring = true;
    }
    if (ring)
        virtio_ring(&device->virtio);
}

/* Ends all requests of a broken device with -EIO and moves them to OVER. */
static void end_locked(struct virtio_9p *device, struct list *over)
{
    for (uint32_t slot = 0; slot < VIRTIO_SLOTS; slot++) {
        if (device->at[slot] != NULL)
            list_append(&device->waiting, &device->at[slot]->node);
        device->at[slot] = NULL;
    }
    while (!list_empty(&device->waiting)) {
        struct virtio_9p_request *request = container_of(device->waiting.next, struct virtio_9p_request, node);

        list_remove(&request->node);
        request->error = -EIO;
        request->got = 0;
        list_append(over, &request->node);
    }
}

static void finish(struct list *over)
{
    list_for_each_safe(at, over) {
        struct virtio_9p_request *request = container_of(at, struct virtio_9p_request, node);

        list_remove(at);
        request->done(request);
    }
}

void virtio_9p_submit(struct virtio_9p *device, struct virtio_9p_request *request)
{
    struct list over;

    list_init(&over);
    request->error = 0;
    spin_lock(&device->lock);
    list_append(&device->waiting, &request->node);
    if (device->virtio.queue.broken)
        end_locked(device, &over);
    else
        send_locked(device);
    spin_unlock(&device->lock);
    finish(&over);
}

static void look(struct virtio_9p *device)
{
    uint32_t slot, written;
    struct list over;
    bool was;

    list_init(&over);
    spin_lock(&device->lock);
    was = device->virtio.queue.broken;
    while ((slot = virtio_queue_take(&device->virtio.queue, &written)) != VIRTIO_NONE) {
        struct virtio_9p_request *request = device->at[slot];

        device->at[slot] = NULL;
        request->got = written < request->room ? written : request->room;
        list_append(&over, &request->node);
    }
    if (!was && virtio_check(&device->virtio)) {
        log_line("9p: the device %s is gone, or does what it must not: it is not used any more", device->tag);
        end_locked(device, &over);
    }
    if (!device->virtio.queue.broken)
        send_locked(device);
    spin_unlock(&device->lock);
    finish(&over);
}

void virtio_9p_interrupt(void)
{
    for (struct virtio_9p *device = devices; device != NULL; device = device->next)
        look(device);
}

/* --- enumeration --- */

/* The configuration is the length of the tag and the tag, without a NUL. */
static bool read_tag(struct virtio_9p *device)
{
    const volatile uint8_t *config = device->virtio.config;
    uint32_t length = config[0] | (uint32_t)config[1] << 8;

    if (length == 0 || length >= VIRTIO_9P_TAG_MAX || length + 2 > device->virtio.config_size)
        return false;
    for (uint32_t i = 0; i < length; i++)
        device->tag[i] = (char)config[2 + i];
    device->tag[length] = '\0';
    return true;
}

static bool take(const struct pci_function *function, void *context)
{
    struct virtio_9p *device;
    int error;

    (void)context;
    if (function->vendor != VIRTIO_VENDOR || (function->device != DEVICE_MODERN && function->device != DEVICE_OLD))
        return false;
    device = heap_alloc(sizeof(*device));
    if (device == NULL)
        return false;
    list_init(&device->waiting);
    error = virtio_start(function, FEATURE_TAG, &device->virtio);
    if (error == 0 && read_tag(device)) {
        device->next = devices;
        devices = device;
    } else {
        log_line("9p: the device at %x:%x.%u cannot be used (error %d)", function->bus, function->slot,
                 function->function, error);
        if (error != 0) /* otherwise the device is running, so its structure stays */
            heap_free(device, sizeof(*device));
    }
    return false;
}

void virtio_9p_start(void)
{
    pci_each(take, NULL);
}

struct virtio_9p *virtio_9p_find(const char *tag)
{
    struct virtio_9p *device;

    for (device = devices; device != NULL; device = device->next) {
        if (strcmp(device->tag, tag) == 0)
            break;
    }
    return device;
}
