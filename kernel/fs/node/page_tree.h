/* A map from page numbers to words that takes memory only where there are words: a radix tree with 64 slots per node
 * (as in Linux's page cache). The word 0 means none. Nodes know how many words are below them. The caller holds the
 * lock that protects the tree; nothing here waits. The cost of a look-up grows with the logarithm (base 64) of the
 * highest page ever inserted. */
#ifndef KERNEL_FS_NODE_PAGE_TREE_H
#define KERNEL_FS_NODE_PAGE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_TREE_LEVELS 7u                            /* at most */
#define PAGE_TREE_PAGES (1ull << 6 * PAGE_TREE_LEVELS) /* page numbers are less than this */
#define PAGE_TREE_NODE 1024u                           /* bytes of a node above the bottom; one there has half */

struct page_tree_node;

struct page_tree { /* all zeros: empty */
    struct page_tree_node *root;
    uint32_t levels;
    uint32_t nodes; /* that this tree has */
};

/* The word of PAGE, or 0. */
uint64_t page_tree_get(const struct page_tree *tree, uint64_t page);
/* How many nodes page_tree_slot would make for PAGE. */
uint32_t page_tree_missing(const struct page_tree *tree, uint64_t page);
/* A pointer to the word of PAGE, for writing: another word in place of one; page_tree_fill writes one where none is. It
 * is valid until the page's range is moved or the tree is cleared. NULL without memory; the tree may have more nodes
 * than before. */
uint64_t *page_tree_slot(struct page_tree *tree, uint64_t page);
/* Writes WORD to SLOT, which is PAGE's and had none. */
void page_tree_fill(struct page_tree *tree, uint64_t page, uint64_t *slot, uint64_t word);
/* Finds the first page at or after FROM that has a word: returns true and sets *PAGE and *WORD. */
bool page_tree_next(const struct page_tree *tree, uint64_t from, uint64_t *page, uint64_t *word);
/* Moves the words of [FIRST, BEHIND) to TO, which must be empty. -ENOMEM: unchanged. Subtrees that lie entirely in the
 * range are moved by their root. TREE has no more nodes than before. */
int page_tree_move(struct page_tree *tree, uint64_t first, uint64_t behind, struct page_tree *to);
/* Calls EACH for each word from page *PAGE on, which EACH may change, also to 0, and moves *PAGE behind it. Each word
 * takes one of *LEFT: true if none is left and there are more words. */
bool page_tree_some(const struct page_tree *tree, uint64_t *page, uint32_t *left,
                    void (*each)(void *context, uint64_t page, uint64_t *word), void *context);
/* The same for all words. */
void page_tree_each(const struct page_tree *tree, void (*each)(void *context, uint64_t page, uint64_t *word),
                    void *context);
/* The number of nodes in all trees of this kernel. */
uint64_t page_tree_nodes(void);
/* Returns how many pages from FROM on have a word. The cost is that of a few look-ups, however many there are. */
uint64_t page_tree_count(const struct page_tree *tree, uint64_t from);
/* Frees all nodes of TREE, which is empty then. PAUSE, unless it is NULL, is called after each. */
void page_tree_clear(struct page_tree *tree, void (*pause)(void));

#endif
