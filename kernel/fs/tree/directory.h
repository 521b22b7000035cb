/* The entries of one directory: names that lead to nodes, found by name, and listed in the order in which they were
 * added. An entry keeps its cookie for good, and a listing continues behind a cookie, so adding or removing other
 * entries does not disturb it. The caller locks (kernel/fs/tree/tree.h). */
#ifndef KERNEL_FS_TREE_DIRECTORY_H
#define KERNEL_FS_TREE_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "kernel/lib/ordered.h"

struct node;

#define DIRECTORY_FIRST_COOKIE 3u /* 1 and 2 are "." and ".." */

struct entry {
    struct ordered_link by_name;   /* key: hash of the name; only the first entry with a hash is in the set */
    struct ordered_link by_cookie; /* key: the cookie */
    struct entry *same;            /* the next entry with this hash */
    struct list of_node;           /* in the list of its node's names */
    struct node *directory;        /* the directory it is in, or NULL */
    struct node *node;             /* the node it leads to */
    uint32_t length;               /* bytes of the name */
    uint32_t uid;                  /* the user who has it of QUOTA_FILE_BYTES */
    char name[];                   /* with a NUL */
};

struct directory { /* zeros: empty */
    struct ordered names, cookies;
    uint64_t last_cookie; /* the newest entry's cookie; 0: none yet */
    uint32_t count;       /* entries */
};

/* Makes *OUT an entry for NAME (LENGTH bytes) that is in no directory and counts for user UID. -ENOSPC: no memory;
 * -EDQUOT: UID has too much. *OUT is NULL then. */
int entry_new(const char *name, size_t length, uint32_t uid, struct entry **out);
/* The same for the name that FROM gets in the place of TO (NULL: none), both of which are about to be freed. It counts
 * for the user of FROM, or if it is longer for UID, who renames it. -EDQUOT only if that user has more then than now.
 */
int entry_new_for(const struct entry *from, const struct entry *to, const char *name, size_t length, uint32_t uid,
                  struct entry **out);
/* Frees ENTRY, which is in no directory. NULL is ignored. */
void entry_free(struct entry *entry);

struct entry *directory_find(const struct directory *directory, const char *name, size_t length);
/* Adds ENTRY, whose name DIRECTORY does not have yet, and gives it a new cookie. */
void directory_add(struct directory *directory, struct entry *entry);
void directory_remove(struct directory *directory, struct entry *entry);
/* The first entry behind COOKIE, or NULL. */
struct entry *directory_next(const struct directory *directory, uint64_t cookie);

#endif
