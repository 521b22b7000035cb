/* Devices without hardware. See the header. */
#include "kernel/fs/device.h"

#include "kernel/abi/errno.h"
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

static const struct device {
    const char *name;
    struct file_kind kind;
    uint64_t device; /* major << 8 | minor, as Linux */
} devices[] = {
    {"null", {.read = read_nothing, .write = write_nowhere, .whole = true}, 0x103},
    {"zero", {.read = read_zeros, .write = write_nowhere, .whole = true, .zeros = true}, 0x105},
    {"full", {.read = read_zeros, .write = write_full, .whole = true}, 0x107},
};
#define DEVICES (sizeof(devices) / sizeof(devices[0]))

static const char *const terminals[] = {"console", "tty", "ttyS0"};
#define TERMINALS (sizeof(terminals) / sizeof(terminals[0]))

bool device_is_terminal(const char *name)
{
    for (size_t i = 0; i < TERMINALS; i++) {
        if (strcmp(name, terminals[i]) == 0)
            return true;
    }
    return false;
}

/* -ENOENT; -ENOTDIR: NAME is below a device. */
static int64_t absent(const char *name)
{
    const char *slash = strchr(name, '/');
    size_t length = slash != NULL ? (size_t)(slash - name) : 0;

    if (slash == NULL)
        return -ENOENT;
    for (size_t i = 0; i < DEVICES; i++) {
        if (strlen(devices[i].name) == length && strncmp(name, devices[i].name, length) == 0)
            return -ENOTDIR;
    }
    for (size_t i = 0; i < TERMINALS; i++) {
        if (strlen(terminals[i]) == length && strncmp(name, terminals[i], length) == 0)
            return -ENOTDIR;
    }
    return -ENOENT;
}

static const struct device *find(const char *name)
{
    for (size_t i = 0; i < DEVICES; i++) {
        if (strcmp(name, devices[i].name) == 0)
            return &devices[i];
    }
    return NULL;
}

static void facts_of(const struct device *device, struct file_facts *facts)
{
    *facts = (struct file_facts){
        .inode = (uint64_t)(device - devices) + 2, .device = device->device, .mode = FILE_CHARACTER | 0666};
}

int64_t device_stat(const char *name, struct file_facts *facts)
{
    const struct device *device = find(name);

    if (device == NULL)
        return absent(name);
    facts_of(device, facts);
    return 0;
}

int64_t device_open(const char *name, uint32_t flags, struct file **out)
{
    const struct device *device = find(name);
    struct file_facts facts;

    if (device == NULL)
        return absent(name);
    facts_of(device, &facts);
    *out = file_create(&device->kind, &facts, flags, NULL, NULL);
    return *out == NULL ? -ENOMEM : 0;
}

void device_list(struct directory *to)
{
    for (size_t i = 0; i < DEVICES; i++)
        directory_add(to, devices[i].name, strlen(devices[i].name), i + 2, FILE_CHARACTER);
    for (size_t i = 0; i < TERMINALS; i++)
        directory_add(to, terminals[i], strlen(terminals[i]), 1, FILE_CHARACTER);
}
