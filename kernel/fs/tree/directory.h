/* The entries of one directory: names that lead to nodes, found by name, and listed in the order in which they came. A
 * listing goes on behind a cookie, which an entry has for good, so what is put in or taken out meanwhile moves nothing
 * else. The caller locks (kernel/fs/tree/tree.h). */
#ifndef KERNEL_FS_TREE_DIRECTORY_H
#define KERNEL_FS_TREE_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "kernel/lib/ordered.h"

struct node;

#define DIRECTORY_FIRST_COOKIE 3u /* 1 and 2 are "." and ".." */

struct entry {
    struct ordered_link by_name;   /* key: hash of the name; in the set it stands for all with this hash */
    struct ordered_link by_cookie; /* key: the cookie */
    struct entry *same;            /* the next with this hash */
    struct list of_node;           /* among the names of its node */
    struct node *directory;        /* where it is; NULL: nowhere */
    struct node *node;             /* where it leads */
    uint32_t length;               /* bytes of the name */
    char name[];                   /* with a NUL */
};

struct directory { /* zeros: empty */
    struct ordered names, cookies;
    uint64_t last_cookie; /* 0: none yet */
    uint32_t count;       /* entries */
};

/* An entry for NAME (LENGTH bytes), in no directory yet; NULL without memory. */
struct entry *entry_new(const char *name, size_t length);
/* ENTRY is in no directory. NULL is ignored. */
void entry_free(struct entry *entry);

struct entry *directory_find(const struct directory *directory, const char *name, size_t length);
/* ENTRY's name is not in DIRECTORY; it gets a new cookie. */
void directory_add(struct directory *directory, struct entry *entry);
void directory_remove(struct directory *directory, struct entry *entry);
/* The first entry behind COOKIE, or NULL. */
struct entry *directory_next(const struct directory *directory, uint64_t cookie);

#endif
