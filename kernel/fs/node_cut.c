/* What makes files shorter, or takes pages out of them. See kernel/fs/node.h. */
#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/fs/node.h"
#include "kernel/fs/node_map.h"
#include "kernel/fs/wire.h"
#include "kernel/lib/list.h"
#include "mm/heap.h"

#define AT_ONCE 1024u /* frames that a handler gives back */

struct late_free {
    struct work work;
    struct page_tree cut;
};

static void run_late_free(struct work *work)
{
    struct late_free *late = container_of(work, struct late_free, work);

    content_free(&late->cut);
    heap_free(late, sizeof(*late));
}

/* Gives back the frames of CUT, about PAGES. */
static void free_cut(struct page_tree *cut, uint64_t pages)
{
    struct late_free *late = pages > AT_ONCE ? heap_alloc(sizeof(*late)) : NULL;

    if (late == NULL) {
        content_free(cut);
        return;
    }
    late->cut = *cut;
    late->work.run = run_late_free;
    work_submit(&late->work);
}

/* One change: cut_begin, the content's change, cut_end. */
struct cutting {
    struct node *node;
    struct page_tree cut;
    uint64_t pages; /* that the file had */
};

static void cut_begin(struct cutting *cutting, struct node *node)
{
    *cutting = (struct cutting){.node = node};
    spin_lock(&node->lock);
    cutting->pages = node->content.pages;
}

static int64_t cut_end(struct cutting *cutting, int64_t error, struct file_answer *answer)
{
    struct node *node = cutting->node;
    uint64_t pages = cutting->pages - node->content.pages;

    if (error == 0)
        node_changed_locked(node);
    spin_unlock(&node->lock);
    (void)answer;
    free_cut(&cutting->cut, pages);
    return error == -ENOMEM ? -ENOSPC : error;
}

int64_t node_resize(struct node *node, uint64_t size, struct file_answer *answer)
{
    struct cutting cutting;
    int64_t error = 0;

    cut_begin(&cutting, node);
    if ((size < node->content.size && (node->seals & SEAL_SHRINK) != 0) ||
        (size > node->content.size && (node->seals & SEAL_GROW) != 0))
        error = -EPERM;
    if (error == 0)
        error = content_resize(&node->content, size, &cutting.cut);
    return cut_end(&cutting, error, answer);
}

int64_t node_punch(struct node *node, uint64_t start, uint64_t end, struct file_answer *answer)
{
    struct cutting cutting;
    int64_t error = 0;

    cut_begin(&cutting, node);
    if ((node->seals & (SEAL_WRITE | SEAL_FUTURE_WRITE)) != 0)
        error = -EPERM;
    if (error == 0)
        error = content_punch(&node->content, start, end, &cutting.cut);
    return cut_end(&cutting, error, answer);
}
