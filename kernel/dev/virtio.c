/* virtio on PCI. See the header. */
#include "kernel/dev/virtio.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/instance/window.h"
#include "mm/frame/heap.h"

/* capabilities (4.1.4) */
#define CAPABILITY_VENDOR 0x09
#define CAPABILITY_MSIX 0x11
#define TYPE_COMMON 1u
#define TYPE_NOTIFY 2u
#define TYPE_DEVICE 4u
/* struct virtio_pci_common_cfg (4.1.4.3) */
#define COMMON_SIZE 56u
#define DEVICE_FEATURE_SELECT 0
#define DEVICE_FEATURE 4
#define DRIVER_FEATURE_SELECT 8
#define DRIVER_FEATURE 12
#define CONFIG_VECTOR 16
#define QUEUES 18
#define STATUS 20
#define QUEUE_SELECT 22
#define QUEUE_SIZE 24
#define QUEUE_VECTOR 26
#define QUEUE_ENABLE 28
#define QUEUE_NOTIFY 30
#define QUEUE_DESCRIPTORS 32
#define QUEUE_AVAILABLE 40
#define QUEUE_USED 48
#define STATUS_SEEN 1u
#define STATUS_DRIVER 2u
#define STATUS_READY 4u
#define STATUS_FEATURES 8u
#define STATUS_RESET 64u  /* DEVICE_NEEDS_RESET */
#define STATUS_GONE 0xffu /* read when the device no longer responds */
#define FEATURE_VERSION_1 (1ull << 32)
#define NO_VECTOR 0xffffu
/* MSI-X (PCI Local Bus Specification 3.0, 6.8.2), and the format of interrupt messages (Intel SDM 3A, 10.11) */
#define MSIX_ENABLE 0x80000000u
#define MSIX_MASK_ALL 0x40000000u
#define MSIX_ENTRY 16u
#define MESSAGE_ADDRESS 0xfee00000u
#define RESET_TURNS 1000000u

static uint64_t physical(const void *object)
{
    return (uint64_t)(uintptr_t)object - (uint64_t)(uintptr_t)window_direct(0);
}

static uint16_t get16(const struct virtio *device, uint32_t at)
{
    return *(volatile uint16_t *)(device->common + at);
}

static void set16(const struct virtio *device, uint32_t at, uint16_t value)
{
    *(volatile uint16_t *)(device->common + at) = value;
}

static void set32(const struct virtio *device, uint32_t at, uint32_t value)
{
    *(volatile uint32_t *)(device->common + at) = value;
}

/* 64-bit registers are written in halves (4.1.3.1). */
static void set_address(const struct virtio *device, uint32_t at, const void *object)
{
    set32(device, at, (uint32_t)physical(object));
    set32(device, at + 4, (uint32_t)(physical(object) >> 32));
}

/* Maps SIZE bytes from OFFSET on of memory region INDEX. Returns NULL if the region does not have them. */
static volatile uint8_t *map_part(const struct pci_function *function, uint32_t index, uint32_t offset, uint32_t size)
{
    uint64_t whole, base = pci_region(function, index, &whole);

    return base == 0 || size == 0 || offset > whole || size > whole - offset ? NULL
                                                                             : window_map_device(base + offset, size);
}

/* Maps the registers of TYPE, at least LEAST bytes, and returns them, their SIZE, and the offset AT of the capability
 * that describes them. NULL: the device has no such registers. */
static volatile uint8_t *map_type(const struct pci_function *function, uint32_t type, uint32_t least, uint32_t *at,
                                  uint32_t *size)
{
    for (*at = pci_capability(function, CAPABILITY_VENDOR, 0); *at != 0;
         *at = pci_capability(function, CAPABILITY_VENDOR, *at)) {
        *size = pci_read(function, *at + 12, 4);
        if (pci_read(function, *at + 3, 1) == type && *size >= least)
            return map_part(function, pci_read(function, *at + 4, 1), pci_read(function, *at + 8, 4), *size);
    }
    return NULL;
}

/* Sets entry 0 of the MSI-X table to VECTOR_VIRTIO on the kernel's first CPU. */
static int route_interrupts(const struct pci_function *function)
{
    uint32_t at = pci_capability(function, CAPABILITY_MSIX, 0), place;
    volatile uint32_t *entry;

    if (at == 0)
        return -ENODEV;
    place = pci_read(function, at + 4, 4);
    entry = (volatile uint32_t *)map_part(function, place & 7, place & ~7u, MSIX_ENTRY);
    if (entry == NULL)
        return -ENODEV;
    entry[0] = MESSAGE_ADDRESS | (cpus[0]->apic_id & 0xff) << 12;
    entry[1] = 0;
    entry[2] = VECTOR_VIRTIO;
    entry[3] = 0; /* not masked */
    pci_write(function, at, (pci_read(function, at, 4) & ~MSIX_MASK_ALL) | MSIX_ENABLE);
    return 0;
}

static int agree(const struct virtio *device, uint64_t features)
{
    uint64_t offered = 0;

    for (uint32_t half = 0; half < 2; half++) {
        set32(device, DEVICE_FEATURE_SELECT, half);
        offered |= (uint64_t) * (volatile uint32_t *)(device->common + DEVICE_FEATURE) << half * 32;
    }
    if ((offered & FEATURE_VERSION_1) == 0)
        return -ENODEV;
    offered &= features | FEATURE_VERSION_1;
    for (uint32_t half = 0; half < 2; half++) {
        set32(device, DRIVER_FEATURE_SELECT, half);
        set32(device, DRIVER_FEATURE, (uint32_t)(offered >> half * 32));
    }
    device->common[STATUS] = STATUS_SEEN | STATUS_DRIVER | STATUS_FEATURES;
    return (device->common[STATUS] & STATUS_FEATURES) != 0 ? 0 : -EIO;
}

/* Starts queue 0. REGISTERS are the doorbells of the device, SIZE bytes, STEP bytes from one to the next. */
static int start_queue(struct virtio *device, volatile uint8_t *registers, uint32_t size, uint32_t step)
{
    struct virtio_rings *rings;
    uint32_t length, place;

    set16(device, QUEUE_SELECT, 0);
    length = get16(device, QUEUE_SIZE);
    place = get16(device, QUEUE_NOTIFY) * step;
    if (get16(device, QUEUES) == 0 || length < 2 || (length & (length - 1)) != 0 || place + 2 > size)
        return -ENODEV;
    rings = heap_alloc(PAGE_SIZE);
    if (rings == NULL)
        return -ENOMEM;
    if (length > VIRTIO_RING)
        length = VIRTIO_RING;
    virtio_queue_init(&device->queue, rings, length);
    device->doorbell = (volatile uint16_t *)(registers + place);
    set16(device, QUEUE_SIZE, (uint16_t)length);
    set16(device, CONFIG_VECTOR, 0);
    set16(device, QUEUE_VECTOR, 0);
    if (get16(device, CONFIG_VECTOR) == NO_VECTOR || get16(device, QUEUE_VECTOR) == NO_VECTOR) {
        heap_free(rings, PAGE_SIZE);
        return -EIO;
    }
    set_address(device, QUEUE_DESCRIPTORS, rings->descriptors);
    set_address(device, QUEUE_AVAILABLE, &rings->available);
    set_address(device, QUEUE_USED, &rings->used);
    set16(device, QUEUE_ENABLE, 1);
    device->common[STATUS] = STATUS_SEEN | STATUS_DRIVER | STATUS_FEATURES | STATUS_READY;
    return 0;
}

static int reset(const struct virtio *device)
{
    device->common[STATUS] = 0;
    for (uint32_t turn = 0; turn < RESET_TURNS; turn++) {
        if (device->common[STATUS] == 0)
            return 0;
        cpu_pause();
    }
    return -EIO;
}

int virtio_start(const struct pci_function *function, uint64_t features, struct virtio *out)
{
    uint32_t at, size, unused;
    volatile uint8_t *doorbells;
    int error;

    *out = (struct virtio){.common = NULL};
    pci_enable(function);
    out->common = map_type(function, TYPE_COMMON, COMMON_SIZE, &unused, &size);
    out->config = map_type(function, TYPE_DEVICE, 1, &unused, &out->config_size);
    doorbells = map_type(function, TYPE_NOTIFY, 2, &at, &size);
    if (out->common == NULL || doorbells == NULL || out->config == NULL)
        return -ENODEV;
    error = reset(out);
    if (error == 0) {
        out->common[STATUS] = STATUS_SEEN | STATUS_DRIVER;
        error = agree(out, features);
    }
    if (error == 0)
        error = route_interrupts(function);
    if (error == 0)
        error = start_queue(out, doorbells, size, pci_read(function, at + 16, 4));
    if (error != 0)
        out->common[STATUS] = 0;
    return error;
}

void virtio_ring(struct virtio *device)
{
    /* We do not read the device's flag that suppresses notifications, so no fence is needed after the store of the
     * queue's index. */
    *device->doorbell = 0;
}

bool virtio_check(struct virtio *device)
{
    uint8_t status = device->common[STATUS];

    if (status == STATUS_GONE || (status & STATUS_RESET) != 0)
        device->queue.broken = true;
    if (device->queue.broken)
        device->common[STATUS] = 0;
    return device->queue.broken;
}
