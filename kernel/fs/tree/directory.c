/* The entries of one directory. See the header. */
#include "kernel/fs/tree/directory.h"

#include <stdbool.h>

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/quota/quota.h"

static uint64_t hash_of(const char *name, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3ull;
    return hash;
}

static int make(const char *name, size_t length, uint32_t uid, uint64_t limit, struct entry **out)
{
    size_t size = sizeof(struct entry) + length + 1;
    int error = quota_take(QUOTA_FILE_BYTES, uid, size, limit, -EDQUOT);
    struct entry *entry = error == 0 ? heap_alloc(size) : NULL;

    *out = entry;
    if (entry == NULL) {
        if (error == 0)
            quota_give(QUOTA_FILE_BYTES, uid, size);
        return error == -EDQUOT ? error : -ENOSPC;
    }
    entry->uid = uid;
    list_init(&entry->of_node);
    entry->length = (uint32_t)length;
    entry->by_name.key = hash_of(name, length);
    memcpy(entry->name, name, length);
    return 0;
}

int entry_new(const char *name, size_t length, uint32_t uid, struct entry **out)
{
    return make(name, length, uid, quota_limit(QUOTA_FILE_BYTES), out);
}

int entry_new_for(const struct entry *from, const struct entry *to, const char *name, size_t length, uint32_t uid,
                  struct entry **out)
{
    bool longer = length > from->length;
    uint32_t user = longer ? uid : from->uid;
    bool more = longer && (to == NULL || to->uid != user); /* TO is as long */

    return make(name, length, user, more ? quota_limit(QUOTA_FILE_BYTES) : UINT64_MAX, out);
}

void entry_free(struct entry *entry)
{
    size_t size = entry != NULL ? sizeof(*entry) + entry->length + 1 : 0;

    if (entry == NULL)
        return;
    quota_give(QUOTA_FILE_BYTES, entry->uid, size);
    heap_free(entry, size);
}

static struct entry *first_of(const struct directory *directory, uint64_t hash)
{
    struct ordered_link *link = ordered_find(&directory->names, hash);

    return link != NULL ? container_of(link, struct entry, by_name) : NULL;
}

struct entry *directory_find(const struct directory *directory, const char *name, size_t length)
{
    struct entry *entry = first_of(directory, hash_of(name, length));

    while (entry != NULL && (entry->length != length || memcmp(entry->name, name, length) != 0))
        entry = entry->same;
    return entry;
}

void directory_add(struct directory *directory, struct entry *entry)
{
    struct entry *first = first_of(directory, entry->by_name.key);

    if (first != NULL) {
        entry->same = first->same;
        first->same = entry;
    } else {
        entry->same = NULL;
        ordered_add(&directory->names, &entry->by_name);
    }
    if (directory->last_cookie < DIRECTORY_FIRST_COOKIE - 1)
        directory->last_cookie = DIRECTORY_FIRST_COOKIE - 1;
    entry->by_cookie.key = ++directory->last_cookie;
    ordered_add(&directory->cookies, &entry->by_cookie);
    directory->count++;
}

void directory_remove(struct directory *directory, struct entry *entry)
{
    struct entry *first = first_of(directory, entry->by_name.key);

    if (first == entry) {
        ordered_remove(&directory->names, &entry->by_name);
        if (entry->same != NULL)
            ordered_add(&directory->names, &entry->same->by_name);
    } else {
        while (first->same != entry)
            first = first->same;
        first->same = entry->same;
    }
    entry->same = NULL;
    ordered_remove(&directory->cookies, &entry->by_cookie);
    directory->count--;
}

struct entry *directory_next(const struct directory *directory, uint64_t cookie)
{
    struct ordered_link *link = ordered_from(&directory->cookies, cookie + 1);

    return link != NULL ? container_of(link, struct entry, by_cookie) : NULL;
}
