/* Tables of pages. See the header. */
#include "kernel/fs/node/page_tree.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "mm/frame/heap.h"

#define BITS 6u
#define SLOTS (1u << BITS)

struct page_tree_node {
    uint64_t slot[SLOTS]; /* words at the bottom level, pointers to child nodes above; 0: nothing */
    struct {              /* above the bottom: how many are below each slot. Nodes of the bottom end before it */
        uint32_t words;   /* enough for 16 TiB */
        uint32_t nodes;
    } below[SLOTS];
};

_Static_assert(sizeof(struct page_tree_node) == PAGE_TREE_NODE, "see the header");

static struct page_tree_node *child_of(const struct page_tree_node *node, uint32_t index)
{
    return (struct page_tree_node *)(uintptr_t)node->slot[index];
}

static uint64_t word_of(const struct page_tree_node *node)
{
    return (uint64_t)(uintptr_t)node;
}

/* The index of PAGE's slot in a node that is LEVEL levels above the bottom. */
static uint32_t index_of(uint64_t page, uint32_t level)
{
    return (uint32_t)(page >> BITS * level) & (SLOTS - 1);
}

/* The number of pages that one slot of such a node covers. */
static uint64_t span_of(uint32_t level)
{
    return 1ull << BITS * level;
}

static bool reaches(const struct page_tree *tree, uint64_t page)
{
    return tree->levels != 0 && page >> BITS * tree->levels == 0;
}

static uint64_t nodes; /* [a] of all trees */

uint64_t page_tree_nodes(void)
{
    return __atomic_load_n(&nodes, __ATOMIC_RELAXED);
}

static size_t size_of(uint32_t level)
{
    return level > 0 ? sizeof(struct page_tree_node) : offsetof(struct page_tree_node, below);
}

/* LEVEL: how many levels above the bottom it is. */
static struct page_tree_node *node_make(struct page_tree *tree, uint32_t level)
{
    struct page_tree_node *node = heap_alloc(size_of(level));

    if (node != NULL) {
        tree->nodes++;
        __atomic_fetch_add(&nodes, 1, __ATOMIC_RELAXED);
    }
    return node;
}

static void node_drop(struct page_tree *tree, struct page_tree_node *node, uint32_t level)
{
    tree->nodes--;
    __atomic_fetch_sub(&nodes, 1, __ATOMIC_RELAXED);
    heap_free(node, size_of(level));
}

/* The words below NODE, from its slot FIRST on. */
static uint64_t words_of(const struct page_tree_node *node, uint32_t level, uint32_t first)
{
    uint64_t count = 0;

    for (uint32_t i = first; i < SLOTS; i++)
        count += level > 0 ? node->below[i].words : node->slot[i] != 0;
    return count;
}

/* The nodes from NODE on, it too. */
static uint32_t nodes_of(const struct page_tree_node *node, uint32_t level)
{
    uint32_t count = 1;

    for (uint32_t i = 0; i < SLOTS && level > 0; i++)
        count += node->below[i].nodes;
    return count;
}

/* A pointer to the word of PAGE, or NULL if the bottom node does not exist. */
static uint64_t *look(const struct page_tree *tree, uint64_t page)
{
    struct page_tree_node *node = tree->root;

    if (!reaches(tree, page))
        return NULL;
    for (uint32_t level = tree->levels - 1; level > 0 && node != NULL; level--)
        node = child_of(node, index_of(page, level));
    return node != NULL ? &node->slot[index_of(page, 0)] : NULL;
}

uint64_t page_tree_get(const struct page_tree *tree, uint64_t page)
{
    const uint64_t *slot = look(tree, page);

    return slot != NULL ? *slot : 0;
}

/* Adds levels until the tree covers PAGE. */
static bool grow(struct page_tree *tree, uint64_t page)
{
    while (!reaches(tree, page)) {
        struct page_tree_node *root = node_make(tree, tree->levels);

        if (root == NULL)
            return false;
        root->slot[0] = word_of(tree->root);
        if (tree->levels > 0) {
            root->below[0].words = (uint32_t)words_of(tree->root, tree->levels - 1, 0);
            root->below[0].nodes = nodes_of(tree->root, tree->levels - 1);
        }
        tree->root = root;
        tree->levels++;
    }
    return true;
}

uint32_t page_tree_missing(const struct page_tree *tree, uint64_t page)
{
    const struct page_tree_node *node = tree->root;
    uint32_t levels = tree->levels, above = 0;

    for (; levels == 0 || page >> BITS * levels != 0; levels++)
        above++;
    if (above != 0) /* new roots, and all below the last one on the way to the page, which is not in its first part */
        return above + levels - 1;
    for (uint32_t level = levels - 1; level > 0; level--) {
        node = child_of(node, index_of(page, level));
        if (node == NULL)
            return level;
    }
    return 0;
}

/* There is another node on the way to PAGE, LEVEL levels above the bottom. */
static void count_node(const struct page_tree *tree, uint64_t page, uint32_t level)
{
    struct page_tree_node *node = tree->root;

    for (uint32_t above = tree->levels - 1; above > level; above--) {
        node->below[index_of(page, above)].nodes++;
        node = child_of(node, index_of(page, above));
    }
}

uint64_t *page_tree_slot(struct page_tree *tree, uint64_t page)
{
    struct page_tree_node *node;

    if (page >= PAGE_TREE_PAGES || !grow(tree, page))
        return NULL;
    node = tree->root;
    for (uint32_t level = tree->levels - 1; level > 0; level--) {
        uint32_t index = index_of(page, level);
        struct page_tree_node *child = child_of(node, index);

        if (child == NULL) {
            child = node_make(tree, level - 1);
            if (child == NULL)
                return NULL;
            node->slot[index] = word_of(child);
            count_node(tree, page, level - 1);
        }
        node = child;
    }
    return &node->slot[index_of(page, 0)];
}

/* There are MORE words at PAGE, 1 or -1, for which the tree has nodes. */
static void count_word(const struct page_tree *tree, uint64_t page, int32_t more)
{
    struct page_tree_node *node = tree->root;

    for (uint32_t level = tree->levels - 1; level > 0; level--) {
        node->below[index_of(page, level)].words += (uint32_t)more;
        node = child_of(node, index_of(page, level));
    }
}

void page_tree_fill(struct page_tree *tree, uint64_t page, uint64_t *slot, uint64_t word)
{
    *slot = word;
    count_word(tree, page, 1);
}

/* FROM's slot of NODE, LEVEL levels above the bottom, is empty: the first page of the next slot that is not, or that is
 * not of NODE. */
static uint64_t behind_empty(const struct page_tree_node *node, uint64_t from, uint32_t level)
{
    uint32_t index = index_of(from, level), next = index + 1;

    while (next < SLOTS && node->slot[next] == 0)
        next++;
    return (from & ~(span_of(level) - 1)) + (next - index) * span_of(level);
}

bool page_tree_next(const struct page_tree *tree, uint64_t from, uint64_t *page, uint64_t *word)
{
    while (reaches(tree, from)) {
        const struct page_tree_node *node = tree->root;
        uint32_t level = tree->levels - 1;

        while (node->slot[index_of(from, level)] != 0) {
            if (level == 0) {
                *page = from;
                *word = node->slot[index_of(from, 0)];
                return true;
            }
            node = child_of(node, index_of(from, level--));
        }
        from = behind_empty(node, from, level);
    }
    return false;
}

/* Nodes that a move needs, allocated before it begins so that it cannot fail half-way. */
struct reserve {
    struct page_tree_node *node[PAGE_TREE_LEVELS][2]; /* each end of the range splits at most one node per level */
    uint32_t count[PAGE_TREE_LEVELS];
};

/* Two nodes for each of the LEVELS lowest levels. */
static bool reserve_fill(struct page_tree *tree, struct reserve *reserve, uint32_t levels)
{
    for (uint32_t level = 0; level < levels; level++) {
        while (reserve->count[level] < 2) {
            struct page_tree_node *node = node_make(tree, level);

            if (node == NULL)
                return false;
            reserve->node[level][reserve->count[level]++] = node;
        }
    }
    return true;
}

static void reserve_drop(struct page_tree *tree, struct reserve *reserve)
{
    for (uint32_t level = 0; level < PAGE_TREE_LEVELS; level++) {
        while (reserve->count[level] > 0)
            node_drop(tree, reserve->node[level][--reserve->count[level]], level);
    }
}

static bool is_empty(const struct page_tree_node *node)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (node->slot[i] != 0)
            return false;
    }
    return true;
}

/* Moves the range's part of NODE, of TREE, to TO, which is empty. NODE is LEVEL levels above the bottom, and BASE is
 * its first page. Returns how many words it has moved. */
static uint64_t move_part(struct page_tree *tree, struct page_tree_node *node, struct page_tree_node *to,
                          uint32_t level, uint64_t base, uint64_t first, uint64_t behind, struct reserve *reserve)
{
    uint64_t span = span_of(level), moved = 0;

    for (uint32_t i = 0; i < SLOTS; i++) {
        uint64_t start = base + i * span, words;
        struct page_tree_node *child, *part;
        uint32_t nodes = 0, left = 0; /* below slot I of TO, and of NODE */

        if (node->slot[i] == 0 || start >= behind || start + span <= first)
            continue;
        if (start >= first && start + span <= behind) {
            words = level > 0 ? node->below[i].words : 1;
            nodes = level > 0 ? node->below[i].nodes : 0;
            to->slot[i] = node->slot[i];
            node->slot[i] = 0;
        } else {
            child = child_of(node, i);
            part = reserve->node[level - 1][--reserve->count[level - 1]];
            words = move_part(tree, child, part, level - 1, start, first, behind, reserve);
            to->slot[i] = word_of(part);
            nodes = nodes_of(part, level - 1);
            left = nodes_of(child, level - 1);
            if (is_empty(child)) {
                left = 0;
                node->slot[i] = 0;
                node_drop(tree, child, level - 1);
            }
        }
        if (level > 0) {
            to->below[i].words = (uint32_t)words;
            to->below[i].nodes = nodes;
            node->below[i].words -= (uint32_t)words;
            node->below[i].nodes = left;
        }
        moved += words;
    }
    return moved;
}

int page_tree_move(struct page_tree *tree, uint64_t first, uint64_t behind, struct page_tree *to)
{
    struct reserve reserve = {.count = {0}};
    struct page_tree_node *root;

    if (first >= behind || !reaches(tree, first))
        return 0;
    root = node_make(tree, tree->levels - 1);
    if (root == NULL)
        return -ENOMEM;
    if (!reserve_fill(tree, &reserve, tree->levels - 1)) {
        reserve_drop(tree, &reserve);
        node_drop(tree, root, tree->levels - 1);
        return -ENOMEM;
    }
    to->levels = tree->levels;
    to->root = root;
    move_part(tree, tree->root, root, tree->levels - 1, 0, first, behind, &reserve);
    reserve_drop(tree, &reserve);
    to->nodes = nodes_of(root, to->levels - 1);
    tree->nodes -= to->nodes;
    return 0;
}

bool page_tree_some(const struct page_tree *tree, uint64_t *page, uint32_t *left,
                    void (*each)(void *context, uint64_t page, uint64_t *word), void *context)
{
    uint64_t word;

    for (; page_tree_next(tree, *page, page, &word); (*page)++, (*left)--) {
        uint64_t *slot;

        if (*left == 0)
            return true;
        slot = look(tree, *page);
        if (slot == NULL)
            continue; /* cannot be: page_tree_next has found a word */
        each(context, *page, slot);
        if (*slot == 0)
            count_word(tree, *page, -1);
    }
    return false;
}

void page_tree_each(const struct page_tree *tree, void (*each)(void *context, uint64_t page, uint64_t *word),
                    void *context)
{
    uint32_t left;
    uint64_t page = 0;

    do
        left = UINT32_MAX;
    while (page_tree_some(tree, &page, &left, each, context));
}

uint64_t page_tree_count(const struct page_tree *tree, uint64_t from)
{
    const struct page_tree_node *node = tree->root;
    uint64_t count = 0;

    if (!reaches(tree, from))
        return 0;
    for (uint32_t level = tree->levels - 1; level > 0 && node != NULL; level--) {
        count += words_of(node, level, index_of(from, level) + 1);
        node = child_of(node, index_of(from, level));
    }
    return node != NULL ? count + words_of(node, 0, index_of(from, 0)) : count;
}

/* Frees NODE, which is LEVEL levels above the bottom of TREE, and all nodes below it. */
static void drop_all(struct page_tree *tree, struct page_tree_node *node, uint32_t level, void (*pause)(void))
{
    for (uint32_t i = 0; i < SLOTS && level > 0; i++) {
        if (node->slot[i] != 0)
            drop_all(tree, child_of(node, i), level - 1, pause);
    }
    node_drop(tree, node, level);
    if (pause != NULL)
        pause();
}

void page_tree_clear(struct page_tree *tree, void (*pause)(void))
{
    if (tree->levels != 0)
        drop_all(tree, tree->root, tree->levels - 1, pause);
    *tree = (struct page_tree){0};
}
