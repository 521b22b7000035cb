/* Events of nodes and names for inotify(7). Nodes and the tree report each event by a function below, which calls
 * kernel/fs/inotify. While there is no watch at all, each function is one comparison. Kernel 0. */
#ifndef KERNEL_FS_NODE_NOTIFY_H
#define KERNEL_FS_NODE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct node;

/* As in Linux. */
#define WATCH_ACCESS 0x1u
#define WATCH_MODIFY 0x2u
#define WATCH_ATTRIB 0x4u
#define WATCH_CLOSE_WRITE 0x8u
#define WATCH_CLOSE_NOWRITE 0x10u
#define WATCH_OPEN 0x20u
#define WATCH_MOVED_FROM 0x40u
#define WATCH_MOVED_TO 0x80u
#define WATCH_CREATE 0x100u
#define WATCH_DELETE 0x200u
#define WATCH_DELETE_SELF 0x400u
#define WATCH_MOVE_SELF 0x800u
#define WATCH_EVENTS 0xfffu
#define WATCH_OVERFLOW 0x4000u
#define WATCH_IGNORED 0x8000u
#define WATCH_ONLY_DIRECTORY 0x01000000u
#define WATCH_NO_FOLLOW 0x02000000u
#define WATCH_EXCEPT_UNLINKED 0x04000000u
#define WATCH_MASK_CREATE 0x10000000u
#define WATCH_MASK_ADD 0x20000000u
#define WATCH_IS_DIRECTORY 0x40000000u
#define WATCH_ONCE 0x80000000u

/* Filled in by kernel/fs/inotify; each is for the function of its name below. */
struct inotify_hooks {
    void (*node)(struct node *node, uint32_t mask);
    void (*node_locked)(struct node *node, uint32_t mask, bool name);
    void (*name_locked)(struct node *directory, const char *name, const struct node *node, uint32_t mask,
                        uint32_t cookie);
    void (*gone)(struct node *node);
    void (*flush)(void);
    uint32_t (*cookie)(void); /* a number that joins the two halves of a rename */
};
extern struct inotify_hooks inotify_hooks;   /* [i] */
extern volatile uint32_t inotify_watches;    /* [a] how many there are */
extern volatile uint32_t inotify_unnotified; /* [a] files with new events whose waiters have not been woken yet */

/* MASK has happened to NODE: notifies watches of it and of the directory of its first name. No locks are held. */
static inline void inotify_node(struct node *node, uint32_t mask)
{
    if (__builtin_expect(inotify_watches != 0, 0))
        inotify_hooks.node(node, mask);
}

/* The same with tree_lock held; to be followed by inotify_flush when it is free. */
static inline void inotify_locked(struct node *node, uint32_t mask)
{
    if (__builtin_expect(inotify_watches != 0, 0))
        inotify_hooks.node_locked(node, mask, true);
}

/* The same, but only for watches of NODE itself. */
static inline void inotify_self_locked(struct node *node, uint32_t mask)
{
    if (__builtin_expect(inotify_watches != 0, 0))
        inotify_hooks.node_locked(node, mask, false);
}

/* MASK has happened to NAME, which leads to NODE, in DIRECTORY; as above. */
static inline void inotify_name_locked(struct node *directory, const char *name, const struct node *node, uint32_t mask,
                                       uint32_t cookie)
{
    if (__builtin_expect(inotify_watches != 0, 0))
        inotify_hooks.name_locked(directory, name, node, mask, cookie);
}

/* NODE is being freed. Any locks but those of watches may be held. */
static inline void inotify_gone(struct node *node)
{
    if (__builtin_expect(inotify_watches != 0, 0))
        inotify_hooks.gone(node);
}

/* Wakes readers of files with new events. No locks are held. Needed even without a watch: the event may be the removal
 * of the last one. */
static inline void inotify_flush(void)
{
    if (__builtin_expect(inotify_unnotified != 0, 0))
        inotify_hooks.flush();
}

/* Joins the two halves of a rename. */
static inline uint32_t inotify_cookie(void)
{
    return __builtin_expect(inotify_watches != 0, 0) ? inotify_hooks.cookie() : 0;
}

#endif
