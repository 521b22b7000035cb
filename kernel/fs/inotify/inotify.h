/* inotify(7): an open file of kernel 0, where the tree is, that tells what happens to nodes.
 * kernel/fs/inotify/inotify.md. Nothing here waits; while nothing is watched anywhere each hook is one comparison. */
#ifndef KERNEL_FS_INOTIFY_INOTIFY_H
#define KERNEL_FS_INOTIFY_INOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file;
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

struct watch_change { /* SPECIAL_WATCH */
    uint64_t id;      /* an open file of kernel 0; 0: nothing is changed, only asked whether it is an inotify file */
    uint32_t mask;    /* 0: watch NUMBER is removed */
    int32_t number;
};

/* An inotify file; NULL without memory. */
struct file *inotify_create(uint32_t flags);

extern volatile uint32_t inotify_watches; /* [a] how many there are */
extern volatile uint32_t inotify_untold;  /* [a] files with news that are still to be woken */

void inotify_tell_node(struct node *node, uint32_t mask);
void inotify_tell_locked(struct node *node, uint32_t mask, bool name);
void inotify_tell_name_locked(struct node *folder, const char *name, const struct node *node, uint32_t mask,
                              uint32_t cookie);
void inotify_tell_gone(struct node *node);
void inotify_tell_flush(void);

/* MASK has happened to NODE: those that watch it, or the directory of its first name, are told. No locks are held. */
static inline void inotify_node(struct node *node, uint32_t mask)
{
    if (__builtin_expect(inotify_watches != 0, 0))
        inotify_tell_node(node, mask);
}

/* The same with tree_lock held; to be followed by inotify_flush when it is free. */
static inline void inotify_locked(struct node *node, uint32_t mask)
{
    if (__builtin_expect(inotify_watches != 0, 0))
        inotify_tell_locked(node, mask, true);
}

/* The same, but only those who watch NODE itself hear of it. */
static inline void inotify_self_locked(struct node *node, uint32_t mask)
{
    if (__builtin_expect(inotify_watches != 0, 0))
        inotify_tell_locked(node, mask, false);
}

/* MASK has happened to NAME, which leads to NODE, in FOLDER; as above. */
static inline void inotify_name_locked(struct node *folder, const char *name, const struct node *node, uint32_t mask,
                                       uint32_t cookie)
{
    if (__builtin_expect(inotify_watches != 0, 0))
        inotify_tell_name_locked(folder, name, node, mask, cookie);
}

/* NODE goes. Any locks but those of watches may be held. */
static inline void inotify_gone(struct node *node)
{
    if (__builtin_expect(inotify_watches != 0, 0))
        inotify_tell_gone(node);
}

/* Who is to be told is woken. No locks are held. There may be no watch any more: the news may be of the last one. */
static inline void inotify_flush(void)
{
    if (__builtin_expect(inotify_untold != 0, 0))
        inotify_tell_flush();
}

/* A number that joins the two halves of a rename. */
uint32_t inotify_cookie(void);

#endif
