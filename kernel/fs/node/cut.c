/* Truncation and hole punching, with the revocation of pages that programs map. See kernel/fs/node/node.h. */
#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/file/wire.h"
#include "kernel/fs/node/map.h"
#include "kernel/fs/node/node.h"
#include "kernel/fs/node/policy.h"
#include "kernel/fs/node/revocation.h"
#include "kernel/instance/instance.h"
#include "mm/area/backing.h"
#include "mm/file/move.h"

/* One change consists of cut_begin, the change of the content, and cut_end. */
struct cutting {
    struct node *node;
    struct revocation_range range;
    struct page_tree cut;
    uint64_t pages;                /* pages that the file had before the change */
    struct revocation *revocation; /* NULL: no program maps the pages */
};

/* Prepares the removal of pages [FIRST, BEHIND). -ENOMEM: no memory for the revocation. */
static int cut_begin_locked(struct cutting *cutting, struct node *node, uint64_t first, uint64_t behind, bool copies)
{
    *cutting = (struct cutting){.node = node, .range = {first, behind - first, copies}, .pages = node->content.pages};
    if (first >= behind || !node_mapped_locked(node))
        return 0;
    cutting->revocation = revocation_make_locked(node);
    return cutting->revocation != NULL ? 0 : -ENOMEM;
}

/* Unlocks the node and sends the revocation. ERROR is the result of the change; if it is not 0, nothing has changed. */
static int64_t cut_end(struct cutting *cutting, int64_t error, struct file_answer *answer)
{
    struct node *node = cutting->node;
    uint64_t pages = cutting->pages > node->content.pages ? cutting->pages - node->content.pages : 0;

    if (error == 0)
        node_changed_locked(node);
    if (error == 0 && cutting->revocation != NULL)
        revocation_begin_locked(cutting->revocation, &cutting->range, &cutting->cut, pages);
    spin_unlock(&node->lock);
    if (cutting->revocation != NULL && error == 0) {
        answer->seen = revocation_send(cutting->revocation);
        answer->flags |= FILE_SETTLES;
    } else if (cutting->revocation != NULL) {
        revocation_drop(cutting->revocation);
    }
    node_free_cut(&cutting->cut, pages);
    return error == -ENOMEM ? -ENOSPC : error;
}

static uint64_t pages_up(uint64_t bytes)
{
    return bytes / PAGE_SIZE + (bytes % PAGE_SIZE != 0);
}

int64_t node_resize(struct node *node, uint64_t size, struct file_answer *answer)
{
    struct content *content = &node->content;
    struct cutting cutting;
    int64_t error = 0;

    spin_lock(&node->lock);
    cutting = (struct cutting){.node = node};
    if ((size < content->size && (node->seals & SEAL_SHRINK) != 0) ||
        (size > content->size && (node->seals & SEAL_GROW) != 0))
        error = -EPERM;
    else if (size < content->size)
        error = cut_begin_locked(&cutting, node, pages_up(size), BACKING_PAGES, true);
    if (error == 0)
        error = content_resize(content, size, &cutting.cut);
    return cut_end(&cutting, error, answer);
}

int64_t node_punch(struct node *node, uint64_t start, uint64_t end, struct file_answer *answer)
{
    struct cutting cutting;
    int64_t error;

    spin_lock(&node->lock);
    cutting = (struct cutting){.node = node};
    if ((node->seals & (SEAL_WRITE | SEAL_FUTURE_WRITE)) != 0)
        error = -EPERM;
    else
        error = cut_begin_locked(&cutting, node, pages_up(start), end / PAGE_SIZE, false);
    if (error == 0)
        error = content_punch(&node->content, start, end, &cutting.cut);
    return cut_end(&cutting, error, answer);
}

void node_await_moves(struct node *node)
{
    file_move_wait(backing_make(instance.kernel, node->number, 0));
}
