/* /sys/kernel/mm/mempolicy/weighted_interleave/nodeN: the weight of a node (mm/mempolicy/weight.h), as in Linux 6.9. A
 * read shows the weight of the kernel that has opened the file. A write changes it on all kernels, for which it waits,
 * and files' operations do not wait: so the caller does it (kernel/fs/proc/live.h). A kernel with such a file open
 * cannot be stopped. */
#include "mm/mempolicy/weight.h"

#include "kernel/abi/errno.h"
#include "kernel/file/wire.h"
#include "kernel/fs/proc/live.h"
#include "kernel/fs/sys/internal.h"
#include "kernel/fs/sys/sys.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "kernel/machine/machine.h"
#include "tasks/thread/credentials.h"
#include "tasks/thread/thread.h"

#define SHOWN_MAX 8u /* bytes of a weight with its newline */

static uint32_t node_of(const struct file *file)
{
    return (uint32_t)(uintptr_t)file->state;
}

/* Copies what the file shows from AT on; with AT negative from its offset on, which advances. */
static int64_t show(struct file *file, int64_t at, uint8_t *out, size_t room)
{
    char text[SHOWN_MAX];
    uint64_t length = (uint64_t)snprintf(text, sizeof(text), "%u\n", mempolicy_weight(node_of(file))), from, count;

    spin_lock(&file->lock);
    from = at < 0 ? file->offset : (uint64_t)at;
    count = from >= length ? 0 : length - from < room ? length - from : room;
    memcpy(out, text + (count != 0 ? from : 0), count);
    if (at < 0)
        file->offset += count;
    spin_unlock(&file->lock);
    return (int64_t)count;
}

static int64_t act(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                   size_t room, struct file_answer *answer)
{
    uint32_t access = file->flags & OPEN_ACCESS;

    (void)data;
    (void)size;
    switch (request->operation) {
    case MSG_FILE_READ:
        return access == 1 ? -EBADF : show(file, -1, result, room);
    case MSG_FILE_READ_AT:
        return access == 1                ? -EBADF
               : request->move.offset < 0 ? -EINVAL
                                          : show(file, request->move.offset, result, room);
    case MSG_FILE_WRITE:
    case MSG_FILE_WRITE_AT:
        if (access == 0)
            return -EBADF;
        answer->flags |= FILE_YOURS;
        answer->seen = FILE_YOURS_WEIGHT;
        answer->id = node_of(file);
        return -EAGAIN;
    case MSG_FILE_SEEK:
        return proc_live_seek(file, request->seek.offset, request->seek.whence);
    default:
        return FILE_AS_ANY;
    }
}

static const struct file_kind weight_kind = {.act = act};

static int64_t open_weight(const struct proc_at *at, const struct file_facts *facts, uint32_t flags, struct file **out)
{
    if ((flags & OPEN_PATH) == 0 && (flags & OPEN_ACCESS) != 0 &&
        !credentials_root(&thread_current()->context.credentials))
        return -EACCES;
    *out = file_create(&weight_kind, facts, flags, (void *)(uintptr_t)at->keys[1], NULL);
    return *out != NULL ? 0 : -ENOMEM;
}

/* Parses TEXT as Linux's kstrtou8 does: decimal, octal or hexadecimal, and at most one newline behind it. */
static bool parse(const char *text, size_t size, uint32_t *weight)
{
    uint32_t base = 10, value = 0, digits = 0;

    if (size > 0 && text[size - 1] == '\n')
        size--;
    if (size > 0 && *text == '+') {
        text++;
        size--;
    }
    if (size > 2 && text[0] == '0' && (text[1] | ' ') == 'x') {
        base = 16;
        text += 2;
        size -= 2;
    } else if (size > 1 && text[0] == '0') {
        base = 8;
    }
    for (; digits < size; digits++) {
        char c = text[digits];
        uint32_t digit = c >= '0' && c <= '9'                   ? (uint32_t)(c - '0')
                         : (c | ' ') >= 'a' && (c | ' ') <= 'f' ? (uint32_t)((c | ' ') - 'a' + 10)
                                                                : 16;

        if (digit >= base)
            return false;
        value = value * base + digit;
        if (value > WEIGHT_MAX)
            return false;
    }
    *weight = value;
    return digits > 0;
}

int64_t sys_set_weight(uint32_t node, const char *text, size_t size)
{
    bool empty = size == 1 && text[0] == '\n';
    uint32_t weight = 0;
    char words[32];
    int error;

    if (!empty && !parse(text, size, &weight))
        return -EINVAL;
    snprintf(words, sizeof(words), "weights=%u:%u", node, weight);
    error = control_everywhere(words);
    return error != 0 ? error : (int64_t)size;
}

static const struct proc_row weight_row = {.name = "", .open = open_weight, .mode = 0644};
static const struct proc_directory weight_file = {.rows = &weight_row, .count = 1};

static const struct proc_directory *find_weight(struct proc_at *at, const char *name, size_t length)
{
    return sys_numbered(name, length, "node", instance.plan.node_count, &at->keys[1]) ? &weight_file : NULL;
}

static void list_weights(const struct proc_at *at, struct dirents *to)
{
    (void)at;
    for (uint32_t i = 0; i < instance.plan.node_count; i++)
        sys_add_numbered(to, "node", i, FILE_REGULAR);
}

const struct proc_directory sys_weights = {.find = find_weight, .list = list_weights};
