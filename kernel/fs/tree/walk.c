/* Walking through the tree. See kernel/fs/tree/internal.h. Parts of a path are looked up one by one; ".." is the parent
 * of the current directory, so it is right behind a symbolic link, too. */
#include "kernel/abi/errno.h"
#include "kernel/fs/tree/internal.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

int walk_begin(struct walk *walk, const struct walker *walker, struct node *start, const char *path, uint32_t links)
{
    *walk = (struct walk){.user = walker->user,
                          .root = walker->root,
                          .at = *path == '/' || start == NULL ? walker->root : start,
                          .rest = path,
                          .links = links};
    if (*path == '\0')
        return -ENOENT;
    return tree_is(walk->at, FILE_DIRECTORY) ? 0 : -ENOTDIR;
}

void walk_end(struct walk *walk)
{
    heap_free(walk->text, PATH_MAX);
    walk->text = NULL;
}

/* Sets the path to walk to FIRST (LENGTH bytes) followed by AFTER. */
static int replace(struct walk *walk, const char *first, size_t length, const char *after)
{
    size_t more = strlen(after);
    char *text = heap_alloc_unset(PATH_MAX);

    if (text == NULL)
        return -ENOMEM;
    if (length + more + 1 > PATH_MAX) {
        heap_free(text, PATH_MAX);
        return -ENAMETOOLONG;
    }
    memcpy(text, first, length);
    memcpy(text + length, after, more + 1);
    heap_free(walk->text, PATH_MAX);
    walk->text = text;
    walk->rest = text;
    return 0;
}

static int follow_link(struct walk *walk, const struct node *link, const char *after)
{
    const char *target = tree_of(link)->link;

    if (++walk->links > LINKS_MAX)
        return -ELOOP;
    if (*target == '/')
        walk->at = walk->root;
    return replace(walk, target, strlen(target), after);
}

static int go_away(struct walk *walk, const struct node *mount, const char *after)
{
    char name[NAME_MAX + 2];
    int64_t length = 0;
    int error;

    walk->share = tree_of(mount)->share;
    if (walk->share == NULL)
        length = tree_name_locked(mount, NULL, name, sizeof(name));
    error = length < 0 ? (int)length : replace(walk, name, (size_t)length, after);
    return error != 0 ? error : WALK_AWAY;
}

static const char *skip_slashes(const char *text)
{
    while (*text == '/')
        text++;
    return text;
}

/* The parent of the current directory; the root's is itself. */
static struct node *above(const struct walk *walk)
{
    return walk->at == walk->root ? walk->root : tree_of(walk->at)->parent;
}

/* Walks one part that is not the last; AFTER is what follows it. */
static int step(struct walk *walk, size_t length, const char *after)
{
    const char *name = walk->rest;
    struct entry *entry;

    if (length == 1 && name[0] == '.') {
        walk->rest = skip_slashes(after);
        return 0;
    }
    if (length == 2 && name[0] == '.' && name[1] == '.') {
        walk->at = above(walk);
        walk->rest = skip_slashes(after);
        return 0;
    }
    entry = directory_find(&tree_of(walk->at)->entries, name, length);
    if (entry == NULL)
        return -ENOENT;
    if (tree_is(entry->node, FILE_LINK))
        return follow_link(walk, entry->node, after);
    if (!tree_is(entry->node, FILE_DIRECTORY))
        return -ENOTDIR;
    if (tree_of(entry->node)->mount)
        return go_away(walk, entry->node, after);
    walk->at = entry->node;
    walk->rest = skip_slashes(after);
    return 0;
}

int walk_to_parent(struct walk *walk)
{
    int error = 0;

    while (error == 0) {
        const char *name = skip_slashes(walk->rest);
        size_t length = 0;

        if (walk->user != NULL && *name != '\0' && tree_may(walk, walk->at, MAY_EXECUTE) != 0)
            return -EACCES;
        while (name[length] != '\0' && name[length] != '/')
            length++;
        if (length > NAME_MAX)
            return -ENAMETOOLONG;
        walk->rest = name;
        if (*skip_slashes(name + length) != '\0') {
            error = step(walk, length, name + length);
            continue;
        }
        walk->name = name;
        walk->length = length;
        walk->slash = name[length] == '/';
        walk->last = WALK_NAME;
        if (length == 0)
            walk->last = WALK_ROOT;
        else if (length == 1 && name[0] == '.')
            walk->last = WALK_DOT;
        else if (length == 2 && name[0] == '.' && name[1] == '.')
            walk->last = WALK_DOT_DOT;
        return 0;
    }
    return error;
}

int walk_on(struct walk *walk)
{
    int error = follow_link(walk, walk->node, walk->name + walk->length);

    return error != 0 ? error : walk_to_parent(walk);
}

int walk_to_last(struct walk *walk, bool follow)
{
    int error = 0;

    while (error == 0) {
        walk->entry = NULL;
        walk->node = walk->at;
        if (walk->last == WALK_DOT_DOT)
            walk->node = above(walk);
        if (walk->last != WALK_NAME)
            return 0;
        walk->entry = directory_find(&tree_of(walk->at)->entries, walk->name, walk->length);
        walk->node = walk->entry != NULL ? walk->entry->node : NULL;
        if (walk->node == NULL)
            return 0;
        if (tree_is(walk->node, FILE_LINK) && (follow || walk->slash)) {
            error = walk_on(walk);
            continue;
        }
        if (tree_is(walk->node, FILE_DIRECTORY))
            return tree_of(walk->node)->mount ? go_away(walk, walk->node, walk->name + walk->length) : 0;
        return walk->slash ? -ENOTDIR : 0;
    }
    return error;
}
