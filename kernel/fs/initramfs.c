/* The files of the boot image. See the header. */
#include "kernel/fs/initramfs.h"

#include "boot/instance.h"
#include "boot/window.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/layout.h"
#include "kernel/fs/node.h"
#include "kernel/fs/regular.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"

static struct cpio_entry *entries; /* [i] in archive order */
static struct node **nodes;        /* [i] theirs */
static uint32_t entry_count;       /* [i] */

static uint32_t walk(const void *archive, size_t size, struct cpio_entry *out, uint32_t room)
{
    struct cpio_entry entry;
    size_t offset = 0;
    uint32_t count = 0;
    int result;

    while ((result = cpio_next(archive, size, &offset, &entry)) > 0) {
        if (count < room)
            out[count] = entry;
        count++;
    }
    if (result < 0 && out == NULL)
        log_line("initramfs: the archive is damaged at byte %zu: the rest is left out", offset);
    return count;
}

/* Objects are numbered as the entries are, from 1 on. */
static const struct cpio_entry *entry_of(uint64_t object)
{
    return object > 0 && object <= entry_count ? &entries[object - 1] : NULL;
}

/* A node for each entry, whose number it is, too. */
static void make_node(struct cpio_entry *entry)
{
    struct node *node = node_create(entry->mode);

    if (node == NULL || node->number != entry - entries + 1)
        panic("fs: no node for %s of the initramfs", entry->name);
    nodes[entry - entries] = node;
    entry->inode = node->number;
    node->links = 1;
    node->atime = node->mtime = node->ctime = entry->mtime * 1000000000ull;
    content_init(&node->content, entry->data, entry->size);
}

void initramfs_init(void)
{
    uint64_t base = instance.initramfs.base & ~(PAGE_SIZE - 1);
    uint64_t lead = instance.initramfs.base - base;
    uint64_t size = instance.initramfs.size;
    const uint8_t *archive = (const uint8_t *)MODULE_BASE + lead;

    if (size == 0) {
        log_line("initramfs: the boot loader gave none");
        return;
    }
    if (window_map(MODULE_BASE, base, (lead + size + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1), 0) != 0) {
        log_line("initramfs: no memory to map it");
        return;
    }
    entry_count = walk(archive, size, NULL, 0);
    entries = heap_alloc(entry_count * sizeof(*entries) + 1);
    if (entries == NULL)
        entry_count = 0;
    walk(archive, size, entries, entry_count);
    nodes = heap_alloc(entry_count * sizeof(struct node *) + 1);
    for (uint32_t i = 0; i < entry_count; i++)
        make_node(&entries[i]);
}

/* A name that some entry's name goes on behind, with a slash, is a directory. */
static bool is_implied_directory(const char *name)
{
    size_t length = strlen(name);

    if (length == 0)
        return true;
    for (uint32_t i = 0; i < entry_count; i++) {
        if (strncmp(entries[i].name, name, length) == 0 && entries[i].name[length] == '/')
            return true;
    }
    return false;
}

/* An entry that is a file and whose name, with a slash behind it, NAME begins with. */
static bool is_below_file(const char *name)
{
    for (uint32_t i = 0; i < entry_count; i++) {
        size_t length = strlen(entries[i].name);

        if ((entries[i].mode & FILE_TYPE_MASK) != FILE_DIRECTORY && strncmp(entries[i].name, name, length) == 0 &&
            name[length] == '/')
            return true;
    }
    return false;
}

/* The object NAME is, 0: none. */
static uint32_t object_of(const char *name)
{
    uint32_t i = entry_count;

    while (i > 0 && strcmp(entries[i - 1].name, name) != 0)
        i--;
    return i;
}

int64_t initramfs_find(const char *name, struct cpio_entry *entry)
{
    uint32_t object = object_of(name);

    if (object != 0) {
        *entry = *entry_of(object);
        return (entry->mode & FILE_TYPE_MASK) == FILE_DIRECTORY ? -EISDIR : 0;
    }
    memset(entry, 0, sizeof(*entry));
    entry->mode = FILE_DIRECTORY | 0755;
    if (is_implied_directory(name))
        return -EISDIR;
    return is_below_file(name) ? -ENOTDIR : -ENOENT;
}

void initramfs_list(const char *name, struct directory *to)
{
    size_t length = strlen(name);

    for (uint32_t i = 0; i < entry_count; i++) {
        const char *child = entries[i].name;
        const char *end;

        if (length > 0 && (strncmp(child, name, length) != 0 || child[length] != '/'))
            continue;
        child += length > 0 ? length + 1 : 0;
        end = strchr(child, '/');
        if (end != NULL)
            directory_add(to, child, (size_t)(end - child), entries[i].inode, FILE_DIRECTORY);
        else if (*child != '\0')
            directory_add(to, child, strlen(child), entries[i].inode, entries[i].mode);
    }
}

static void facts_of(const struct cpio_entry *entry, struct file_facts *facts)
{
    *facts = (struct file_facts){
        .inode = entry->inode, .size = entry->size, .device = 1, .mode = entry->mode, .mtime = entry->mtime};
}

int64_t initramfs_open(const char *name, uint32_t flags, struct file **out)
{
    struct cpio_entry entry;
    int64_t error = initramfs_find(name, &entry);

    if (error != 0)
        return error;
    *out = regular_open(nodes[object_of(name) - 1], flags);
    return *out != NULL ? 0 : -ENOMEM;
}

int64_t initramfs_mapped(uint64_t object, const char **name, struct file_facts *facts)
{
    const struct cpio_entry *entry = entry_of(object);

    if (entry == NULL)
        return -ENOENT;
    *name = entry->name;
    facts_of(entry, facts);
    return 0;
}

int64_t initramfs_stat(const char *name, struct file_facts *facts)
{
    struct cpio_entry entry;
    int64_t error = initramfs_find(name, &entry);

    if (error != 0 && error != -EISDIR)
        return error;
    facts_of(&entry, facts);
    return 0;
}
