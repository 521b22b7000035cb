/* Devices without hardware, and the names of all devices. See the header. */
#include "kernel/fs/device/device.h"

#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"

static int64_t read_nothing(struct file *file, void *data, size_t size)
{
    (void)file;
    (void)data;
    (void)size;
    return 0;
}

static int64_t read_zeros(struct file *file, void *data, size_t size)
{
    (void)file;
    memset(data, 0, size);
    return (int64_t)size;
}

static int64_t write_nowhere(struct file *file, const void *data, size_t size, uint32_t flags)
{
    (void)file;
    (void)data;
    (void)flags;
    return (int64_t)size;
}

static int64_t write_full(struct file *file, const void *data, size_t size, uint32_t flags)
{
    (void)file;
    (void)data;
    (void)size;
    (void)flags;
    return -ENOSPC;
}

/* Not for secrets: splitmix64, started from the boot option seed=, so that a run can be repeated, or else from the time
 * stamp counter. */
void device_random(void *to, size_t size)
{
    static volatile uint64_t counter; /* [a] */
    uint64_t seed = option_number(instance.cmdline, "seed");
    uint8_t *bytes = to;

    for (size_t i = 0; i < size; i += 8) {
        uint64_t z = seed + (seed == 0 ? rdtsc() : instance.kernel) +
                     __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15ull;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        z ^= z >> 31;
        for (size_t j = i; j < i + 8 && j < size; j++, z >>= 8)
            bytes[j] = (uint8_t)z;
    }
}

static int64_t read_random(struct file *file, void *data, size_t size)
{
    (void)file;
    device_random(data, size);
    return (int64_t)size;
}

static const struct device {
    const char *name;
    struct file_kind kind;
    uint64_t number; /* major << 8 | minor, as Linux */
} devices[] = {
    {"null", {.read = read_nothing, .write = write_nowhere, .whole = true}, 0x103},
    {"zero", {.read = read_zeros, .write = write_nowhere, .whole = true, .zeros = true}, 0x105},
    {"full", {.read = read_zeros, .write = write_full, .whole = true}, 0x107},
    {"random", {.read = read_random, .write = write_nowhere, .whole = true}, 0x108},
    {"urandom", {.read = read_random, .write = write_nowhere, .whole = true}, 0x109},
};
#define DEVICES (sizeof(devices) / sizeof(devices[0]))

struct device_terminals device_terminals;

const char *device_name(uint32_t index, uint64_t *number)
{
    if (index < DEVICES) {
        *number = devices[index].number;
        return devices[index].name;
    }
    index -= DEVICES;
    if (index >= device_terminals.count)
        return NULL;
    *number = device_terminals.names[index].number;
    return device_terminals.names[index].name;
}

void device_path(uint64_t number, char *out, size_t size)
{
    uint64_t at;
    const char *name;

    if (device_terminals.path(number, out, size))
        return;
    for (uint32_t index = 0; (name = device_name(index, &at)) != NULL; index++) {
        if (at == number)
            break;
    }
    snprintf(out, size, "/dev/%s", name != NULL ? name : "unknown");
}

const struct file_kind *device_kind(uint64_t number)
{
    for (size_t i = 0; i < DEVICES; i++) {
        if (devices[i].number == number)
            return &devices[i].kind;
    }
    return NULL;
}

int64_t device_open(uint64_t number, const struct file_facts *facts, uint32_t flags, struct file **out)
{
    const struct file_kind *kind = device_kind(number);

    if (kind == NULL)
        return -ENXIO;
    *out = file_create(kind, facts, flags, NULL, NULL);
    return *out == NULL ? -ENOMEM : 0;
}
