/* The initramfs. See the header. */
#include "kernel/fs/tree/initramfs.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"

#define SECOND 1000000000ull

static const uint8_t *archive; /* [i] */
static size_t archive_size;    /* [i] */

static void seed_from(const struct cpio_entry *entry)
{
    struct tree_seed seed = {.name = entry->name,
                             .mode = entry->mode,
                             .uid = entry->uid,
                             .gid = entry->gid,
                             .rdev = (uint64_t)entry->major << 8 | entry->minor,
                             .mtime = entry->mtime * SECOND,
                             .content = entry->data,
                             .size = entry->size};
    int error = tree_seed(&seed);

    if (error != 0)
        log_line("initramfs: %s is left out (error %d)", entry->name, error);
}

static void fill_tree(void)
{
    struct cpio_entry entry;
    size_t offset = 0;
    int result;

    while ((result = cpio_next(archive, archive_size, &offset, &entry)) > 0)
        seed_from(&entry);
    if (result < 0)
        log_line("initramfs: the archive is damaged at byte %zu: the rest is left out", offset);
}

void initramfs_init(void)
{
    uint64_t base = instance.initramfs.base & ~(PAGE_SIZE - 1);
    uint64_t lead = instance.initramfs.base - base;
    uint64_t size = instance.initramfs.size;

    tree_init();
    if (size == 0) {
        log_line("initramfs: the boot loader gave none");
    } else if (window_map(MODULE_BASE, base, (lead + size + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1), 0) != 0) {
        log_line("initramfs: no memory to map it");
    } else {
        archive = (const uint8_t *)MODULE_BASE + lead;
        archive_size = size;
        fill_tree();
    }
    tree_seed_rest();
}

int initramfs_find(const char *name, struct cpio_entry *entry)
{
    struct cpio_entry next;
    size_t offset = 0;
    int error = -ENOENT;

    while (cpio_next(archive, archive_size, &offset, &next) > 0) {
        if (strcmp(next.name, name) == 0) {
            *entry = next;
            error = 0;
        }
    }
    return error;
}
