/* A table from page numbers to words that costs memory only where there are any: a radix tree of 64 slots a node (as
 * Linux's page cache). A word of 0 is none. The caller holds the lock that protects it; nothing here waits. A look-up
 * costs one step for each factor of 64 in the highest page that was ever put in. */
#ifndef KERNEL_FS_NODE_PAGE_TREE_H
#define KERNEL_FS_NODE_PAGE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_TREE_LEVELS 7u                            /* at most */
#define PAGE_TREE_PAGES (1ull << 6 * PAGE_TREE_LEVELS) /* page numbers are below */

struct page_tree_node;

struct page_tree { /* all zeros: empty */
    struct page_tree_node *root;
    uint32_t levels;
};

/* PAGE's word, or 0. */
uint64_t page_tree_get(const struct page_tree *tree, uint64_t page);
/* Where PAGE's word is, for writing; it stays there until the page's range is moved or the tree cleared. NULL: there is
 * no memory for it. */
uint64_t *page_tree_slot(struct page_tree *tree, uint64_t page);
/* The first page from FROM on that has a word: true, and *PAGE and its word, *WORD. */
bool page_tree_next(const struct page_tree *tree, uint64_t from, uint64_t *page, uint64_t *word);
/* Moves the words of [FIRST, BEHIND) to TO, which is empty. -ENOMEM: unchanged. The parts that lie in the range as a
 * whole are moved as a whole. */
int page_tree_move(struct page_tree *tree, uint64_t first, uint64_t behind, struct page_tree *to);
/* Calls EACH for each word, which it may change. */
void page_tree_each(const struct page_tree *tree, void (*each)(void *context, uint64_t page, uint64_t *word),
                    void *context);
/* Nodes that all trees have. */
uint64_t page_tree_nodes(void);
/* TREE is empty then. */
void page_tree_clear(struct page_tree *tree);

#endif
