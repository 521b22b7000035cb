/* Bytes of regular files. See the header. Over 500 lines because all that knows the words of the tree is here. */
#include "kernel/fs/node/content.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/string.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "mm/mempolicy/mempolicy.h"
#include "tasks/quota/quota.h"

/* A page's word in the tree is the address of its frame, perhaps with these bits. */
#define SAME 1ull    /* the frame still equals the boot image, and was never handed out for writing */
#define MOVING 2ull  /* from content_move_begin to content_move_end */
#define FOREIGN 4ull /* another kernel's memory: the word has the address of a struct frame_reference */
#define LOST 8ull    /* such memory, of a kernel that has died: the word has no address */
#define BITS (SAME | MOVING | FOREIGN | LOST)

_Static_assert(sizeof(struct frame_reference) > BITS, "it is aligned so that the bits are free");

static uint64_t frames; /* [a] of this kernel */

uint64_t content_frames(void)
{
    return __atomic_load_n(&frames, __ATOMIC_RELAXED);
}

static inline struct frame_reference *reference_of(uint64_t word)
{
    return (struct frame_reference *)(word & ~BITS);
}

/* 0: there is none, or it is lost. */
static inline uint64_t frame_of(uint64_t word)
{
    return (word & FOREIGN) != 0 ? reference_of(word)->frame : word & ~(PAGE_SIZE - 1);
}

/* Copies bytes of the frame of WORD, or to it. */
static inline void read_frame(uint64_t word, uint64_t offset, void *to, size_t size)
{
    if (__builtin_expect((word & FOREIGN) != 0, 0))
        frame_bytes(frame_of(word), (uint32_t)offset, to, (uint32_t)size, false);
    else
        memcpy(to, (const uint8_t *)window_direct(frame_of(word)) + offset, size);
}

static inline void write_frame(uint64_t word, uint64_t offset, const void *from, size_t size)
{
    if (__builtin_expect((word & FOREIGN) != 0, 0))
        frame_bytes(frame_of(word), (uint32_t)offset, (void *)from, (uint32_t)size, true);
    else
        memcpy((uint8_t *)window_direct(frame_of(word)) + offset, from, size);
}

static void clear_frame(uint64_t word, uint64_t offset, size_t size)
{
    if ((word & FOREIGN) != 0)
        frame_clear(frame_of(word), (uint32_t)offset, (uint32_t)size);
    else if (frame_of(word) != 0)
        memset((uint8_t *)window_direct(frame_of(word)) + offset, 0, size);
}

/* Drops the reference to the frame of WORD. */
static void release_frame(uint64_t word)
{
    if ((word & LOST) != 0)
        return;
    if ((word & FOREIGN) != 0) {
        frame_reference_drop(reference_of(word));
        return;
    }
    __atomic_fetch_sub(&frames, 1, __ATOMIC_RELAXED);
    if (frame_object_page(frame_of(word)) != 0) /* a private mapping that keeps it has a page of its own now */
        frame_set_object_page(frame_of(word), 0);
    frame_release(frame_of(word));
}

/* The word of a frame whose reference is NEW, which is freed if the frame is this kernel's. */
static uint64_t word_of(struct frame_reference *new)
{
    uint64_t frame = new->frame;

    if (!window_owns(frame, PAGE_SIZE))
        return (uint64_t) new | FOREIGN;
    heap_free(new, sizeof(*new));
    __atomic_fetch_add(&frames, 1, __ATOMIC_RELAXED);
    return frame;
}

static uint64_t pages_of(uint64_t bytes)
{
    return bytes / PAGE_SIZE + (bytes % PAGE_SIZE != 0);
}

/* The boot image has a part of the page. */
static bool is_archived(const struct content *content, uint64_t page)
{
    return page < pages_of(content->archive_size);
}

void content_init(struct content *content, const void *archive, uint64_t size)
{
    *content = (struct content){.archive = archive, .archive_size = size, .size = size, .pages = pages_of(size)};
}

/* Copies bytes of a page that has no frame. */
static void copy_without_frame(const struct content *content, uint64_t at, uint8_t *to, size_t size)
{
    size_t part = at >= content->archive_size         ? 0
                  : content->archive_size - at < size ? content->archive_size - at
                                                      : size;

    if (part > 0)
        memcpy(to, (const uint8_t *)content->archive + at, part);
    memset(to + part, 0, size - part);
}

int64_t content_read(const struct content *content, uint64_t at, void *to, size_t size)
{
    uint8_t *bytes = to;

    if (at >= content->size)
        return 0;
    if (size > content->size - at)
        size = content->size - at;
    for (size_t done = 0, part; done < size; done += part) {
        uint64_t offset = (at + done) % PAGE_SIZE;
        uint64_t word = page_tree_get(&content->tree, (at + done) / PAGE_SIZE);

        if (__builtin_expect((word & LOST) != 0, 0))
            return done > 0 ? (int64_t)done : -EIO;
        part = PAGE_SIZE - offset < size - done ? PAGE_SIZE - offset : size - done;
        if (word != 0)
            read_frame(word, offset, bytes + done, part);
        else
            copy_without_frame(content, at + done, bytes + done, part);
    }
    return (int64_t)size;
}

int64_t content_read_out(const struct content *content, uint64_t at, size_t size,
                         int (*put)(uint64_t to, const void *from, uint64_t size), uint64_t to)
{
    if (at >= content->size)
        return 0;
    if (size > content->size - at)
        size = content->size - at;
    for (size_t done = 0, part; done < size; done += part) {
        uint64_t offset = (at + done) % PAGE_SIZE;
        uint64_t word = page_tree_get(&content->tree, (at + done) / PAGE_SIZE);
        const uint8_t *from;

        part = PAGE_SIZE - offset < size - done ? PAGE_SIZE - offset : size - done;
        if ((word & (FOREIGN | LOST)) != 0 || (word == 0 && at + done + part > content->archive_size))
            return -EFAULT;
        from = word != 0 ? (const uint8_t *)window_direct(frame_of(word)) + offset
                         : (const uint8_t *)content->archive + at + done;
        if (put(to + done, from, part) != 0)
            return -EFAULT;
    }
    return (int64_t)size;
}

uint64_t content_charged(const struct content *content)
{
    return content->pages - pages_of(content->archive_size);
}

uint64_t content_table_bytes(const struct content *content)
{
    return (uint64_t)content->tree.nodes * PAGE_TREE_NODE;
}

/* The tree has fewer nodes than for which the user has been charged. */
static void give_nodes(const struct content *content, uint32_t charged)
{
    quota_give(QUOTA_FILE_BYTES, content->uid, (uint64_t)(charged - content->tree.nodes) * PAGE_TREE_NODE);
}

/* *SLOT becomes the place of PAGE's word. The user is charged for the nodes that the tree gets: -EDQUOT, -ENOMEM. */
static int find_slot(struct content *content, uint64_t page, uint64_t **slot)
{
    uint32_t charged = content->tree.nodes + page_tree_missing(&content->tree, page);
    int error = quota_take(QUOTA_FILE_BYTES, content->uid, (uint64_t)(charged - content->tree.nodes) * PAGE_TREE_NODE,
                           quota_limit(QUOTA_FILE_BYTES), -EDQUOT);

    if (error != 0)
        return error;
    *slot = page_tree_slot(&content->tree, page);
    if (*slot != NULL)
        return 0;
    give_nodes(content, charged);
    return -ENOMEM;
}

/* Moves the pages [FIRST, BEHIND) to CUT, whose nodes are nobody's. -ENOMEM: unchanged. */
static int cut_off(struct content *content, uint64_t first, uint64_t behind, struct page_tree *cut)
{
    uint32_t charged = content->tree.nodes;
    int error = page_tree_move(&content->tree, first, behind, cut);

    give_nodes(content, charged);
    return error;
}

static int charge(const struct content *content, uint64_t pages)
{
    return quota_take(QUOTA_FILE_PAGES, content->uid, pages, quota_limit(QUOTA_FILE_PAGES), -EDQUOT);
}

/* *WORD becomes that of PAGE, with a new frame if there is none, and it is not lost. WRITE: the frame may come to
 * differ from the boot image. WHOLE: the caller overwrites the whole page, so its bytes need not be filled in. -ENOMEM,
 * -EDQUOT; -EXDEV: a frame is missing which may be any memory's, unless PLACED. After an error *WORD is 0. The tree
 * gets its nodes last, so that no call that fails for its user's pages, or for a frame, leaves any. */
static inline __attribute__((always_inline)) int make_frame(struct content *content, uint64_t page, bool write,
                                                            bool whole, bool placed, uint64_t *word)
{
    bool archived = is_archived(content, page);
    uint64_t frame, *slot = NULL;
    int error;

    *word = page_tree_get(&content->tree, page);
    if (*word != 0) {
        if (write && (*word & SAME) != 0)
            *page_tree_slot(&content->tree, page) = *word &= ~SAME; /* the slot exists */
        return 0;
    }
    if (!placed && !archived)
        return -EXDEV;
    error = archived ? 0 : charge(content, 1);
    if (error != 0)
        return error;
    frame = mempolicy_frame_near(!whole && !archived);
    error = -ENOMEM;
    if (frame != 0) {
        frame_share(frame);
        error = find_slot(content, page, &slot);
    }
    if (error != 0) {
        if (frame != 0)
            frame_release(frame);
        quota_give(QUOTA_FILE_PAGES, content->uid, archived ? 0 : 1);
        return error;
    }
    if (archived && !whole)
        copy_without_frame(content, page * PAGE_SIZE, window_direct(frame), PAGE_SIZE);
    __atomic_fetch_add(&frames, 1, __ATOMIC_RELAXED);
    *word = frame | (archived && !write ? SAME : 0);
    page_tree_fill(&content->tree, page, slot, *word);
    if (!archived)
        content->pages++;
    return 0;
}

/* A move of a page, from its begin to its end; the page may be cut off meanwhile, with its frame. */
struct moving {
    struct moving *next;
    uint64_t page, frame;
};

static bool moves(const struct content *content, uint64_t page)
{
    return content->moving != NULL && (page_tree_get(&content->tree, page) & MOVING) != 0;
}

/* Whether the page moves of which a part is in front of AT, and a part behind it. */
static bool moves_around(const struct content *content, uint64_t at)
{
    return at % PAGE_SIZE != 0 && moves(content, at / PAGE_SIZE);
}

/* Whether a page moves that a write of SIZE bytes at AT changes. */
static bool moves_where_written(const struct content *content, uint64_t at, size_t size)
{
    if (content->moving == NULL)
        return false;
    for (uint64_t page = at / PAGE_SIZE; page < pages_of(at + size); page++) {
        if (moves(content, page))
            return true;
    }
    return at + size > content->size && moves_around(content, content->size);
}

/* SIZE is the old or the new end of the file: clears the rest of that page, where a mapping may have written, up to
 * BEHIND, which is not in front of SIZE. */
static void clear_tail(const struct content *content, uint64_t size, uint64_t behind)
{
    uint64_t offset = size % PAGE_SIZE, rest = PAGE_SIZE - offset;

    if (behind - size < rest)
        rest = behind - size;
    if (offset != 0 && rest != 0)
        clear_frame(page_tree_get(&content->tree, size / PAGE_SIZE), offset, rest);
}

int64_t content_write(struct content *content, uint64_t at, const void *from, size_t size)
{
    const uint8_t *bytes = from;
    size_t done = 0, part;
    int error = 0;

    if (at >= CONTENT_MAX)
        return -EFBIG;
    if (size > CONTENT_MAX - at)
        size = CONTENT_MAX - at;
    if (moves_where_written(content, at, size))
        return -EAGAIN;
    for (; done < size; done += part) {
        uint64_t offset = (at + done) % PAGE_SIZE;
        uint64_t word;

        part = PAGE_SIZE - offset < size - done ? PAGE_SIZE - offset : size - done;
        error = make_frame(content, (at + done) / PAGE_SIZE, true, part == PAGE_SIZE, true, &word);
        if ((word & LOST) != 0 && done == 0)
            return -EIO;
        if (word == 0 || (word & LOST) != 0)
            break;
        if (at + done + part > content->size) {
            if (at + done > content->size) /* what is written needs not be cleared, nor what stays behind the end */
                clear_tail(content, content->size, at + done);
            content->size = at + done + part;
        }
        write_frame(word, offset, bytes + done, part);
    }
    return done > 0 ? (int64_t)done : error;
}

/* The file has lost the pages of CUT. Their movers find that when they end their moves. */
static void lose(struct content *content, const struct page_tree *cut)
{
    uint64_t pages = page_tree_count(cut, pages_of(content->archive_size));

    content->pages -= pages;
    quota_give(QUOTA_FILE_PAGES, content->uid, pages);
}

int content_resize(struct content *content, uint64_t size, struct page_tree *cut)
{
    uint64_t pages = pages_of(size), archived;

    if (size > CONTENT_MAX)
        return -EFBIG;
    if (moves_around(content, size > content->size ? content->size : size))
        return -EAGAIN;
    if (size > content->size) {
        clear_tail(content, content->size, size);
        content->size = size;
        return 0;
    }
    if (cut_off(content, pages, PAGE_TREE_PAGES, cut) != 0)
        return -ENOMEM;
    lose(content, cut);
    archived = pages_of(content->archive_size);
    if (archived > pages)
        content->pages -= archived - pages;
    if (content->archive_size > size)
        content->archive_size = size;
    clear_tail(content, size, UINT64_MAX);
    content->size = size;
    return 0;
}

/* Copies all pages that the file has in the boot image into frames, and gives up the boot image. */
static int leave_archive(struct content *content)
{
    uint64_t word;
    int error = charge(content, pages_of(content->archive_size));

    for (uint64_t page = 0; error == 0 && is_archived(content, page); page++) {
        error = make_frame(content, page, true, false, true, &word);
        if (error != 0)
            quota_give(QUOTA_FILE_PAGES, content->uid, pages_of(content->archive_size));
    }
    if (error != 0)
        return error;
    content->archive_size = 0;
    return 0;
}

/* Clears [START, END), which lies within one page. */
static void clear_part(struct content *content, uint64_t start, uint64_t end)
{
    if (start < end)
        clear_frame(page_tree_get(&content->tree, start / PAGE_SIZE), start % PAGE_SIZE, end - start);
}

int content_punch(struct content *content, uint64_t start, uint64_t end, struct page_tree *cut)
{
    uint64_t first = pages_of(start), behind = end / PAGE_SIZE;
    int error;

    if (moves_around(content, start) || moves_around(content, end))
        return -EAGAIN;
    error = start < content->archive_size ? leave_archive(content) : 0;
    if (error == 0)
        error = cut_off(content, first, behind, cut);
    if (error != 0)
        return error;
    lose(content, cut);
    if (first > behind) { /* both ends lie in one page */
        clear_part(content, start, end);
        return 0;
    }
    clear_part(content, start, first * PAGE_SIZE);
    clear_part(content, behind * PAGE_SIZE, end);
    return 0;
}

int content_fill(struct content *content, uint64_t start, uint64_t end)
{
    uint64_t word;
    int error = 0;

    for (uint64_t page = start / PAGE_SIZE; error == 0 && page < pages_of(end); page++) {
        if (!is_archived(content, page))
            error = make_frame(content, page, true, false, true, &word);
    }
    return error;
}

int64_t content_seek_data(const struct content *content, uint64_t at)
{
    uint64_t page = at / PAGE_SIZE, word;

    if (at >= content->size)
        return -ENXIO;
    if (is_archived(content, page))
        return (int64_t)at;
    if (!page_tree_next(&content->tree, page, &page, &word) || page * PAGE_SIZE >= content->size)
        return -ENXIO;
    return (int64_t)(page * PAGE_SIZE > at ? page * PAGE_SIZE : at);
}

int64_t content_seek_hole(const struct content *content, uint64_t at)
{
    uint64_t page = at / PAGE_SIZE;

    if (at >= content->size)
        return -ENXIO;
    if (is_archived(content, page))
        page = pages_of(content->archive_size);
    while (page_tree_get(&content->tree, page) != 0)
        page++;
    if (page * PAGE_SIZE > at)
        at = page * PAGE_SIZE;
    return (int64_t)(at < content->size ? at : content->size);
}

int content_page(struct content *content, uint64_t page, bool write, bool placed, uint64_t *frame)
{
    uint64_t word;
    int error;

    if (page >= pages_of(content->size))
        return -ENXIO;
    if (moves(content, page))
        return -EAGAIN;
    error = make_frame(content, page, write, false, placed, &word);
    if (error != 0)
        return error == -EDQUOT ? -ENXIO : error; /* the program gets SIGBUS for either */
    if ((word & LOST) != 0)
        return -EHWPOISON;
    *frame = frame_of(word);
    if ((word & FOREIGN) != 0)
        return 1;
    frame_share(*frame);
    return 0;
}

void content_frames_here(const struct content *content, uint64_t page, uint32_t count, uint64_t *found)
{
    for (uint64_t end = page + count; page < end; page++, found++) {
        uint64_t word = page < pages_of(content->size) ? page_tree_get(&content->tree, page) : 0;

        *found = (word & (MOVING | FOREIGN | LOST)) == 0 ? frame_of(word) : 0;
        if (*found != 0)
            frame_share(*found);
    }
}

bool content_ends_before(const struct content *content, uint64_t page)
{
    return page >= pages_of(content->size);
}

bool content_lacks_frame(const struct content *content, uint64_t page)
{
    return !is_archived(content, page) && page_tree_get(&content->tree, page) == 0;
}

/* Counts PAGE, which is to get a frame: sets *SLOT to its place. Errors as content_take. */
static int begin_take(struct content *content, uint64_t page, uint64_t **slot)
{
    int error = content_lacks_frame(content, page) ? charge(content, 1) : -EEXIST;

    if (error != 0)
        return error;
    error = find_slot(content, page, slot);
    if (error != 0)
        quota_give(QUOTA_FILE_PAGES, content->uid, 1);
    return error;
}

int content_take(struct content *content, uint64_t page, struct frame_reference *new)
{
    uint64_t *slot;
    int error = begin_take(content, page, &slot);

    if (error != 0)
        return error;
    page_tree_fill(&content->tree, page, slot, word_of(new));
    content->pages++;
    return 0;
}

int content_take_own(struct content *content, uint64_t page, uint64_t frame)
{
    uint64_t *slot;
    int error = begin_take(content, page, &slot);

    if (error != 0)
        return error;
    frame_share(frame);
    __atomic_fetch_add(&frames, 1, __ATOMIC_RELAXED);
    page_tree_fill(&content->tree, page, slot, frame);
    content->pages++;
    return 0;
}

int content_copy_page(const struct content *content, uint64_t page, uint64_t frame)
{
    uint64_t word = page_tree_get(&content->tree, page);

    if (page >= pages_of(content->size))
        return -ENXIO;
    if ((word & LOST) != 0)
        return -EHWPOISON;
    if (word != 0)
        read_frame(word, 0, window_direct(frame), PAGE_SIZE);
    else
        copy_without_frame(content, page * PAGE_SIZE, window_direct(frame), PAGE_SIZE);
    return 0;
}

bool content_move_begin(struct content *content, uint64_t page, uint64_t frame)
{
    uint64_t word = page_tree_get(&content->tree, page);
    struct moving *moving;

    if (frame == 0 || frame_of(word) != frame || (word & MOVING) != 0)
        return false;
    moving = heap_alloc(sizeof(*moving));
    if (moving == NULL)
        return false;
    *moving = (struct moving){content->moving, page, frame};
    content->moving = moving;
    *page_tree_slot(&content->tree, page) |= MOVING; /* the slot exists */
    return true;
}

/* A move of PAGE from FRAME ends. */
static void end_move(struct content *content, uint64_t page, uint64_t frame)
{
    for (struct moving **at = &content->moving; *at != NULL; at = &(*at)->next) {
        struct moving *moving = *at;

        if (moving->page != page || moving->frame != frame)
            continue;
        *at = moving->next;
        heap_free(moving, sizeof(*moving));
        return;
    }
}

void content_forget_moves(struct content *content)
{
    while (content->moving != NULL)
        end_move(content, content->moving->page, content->moving->frame);
}

void content_drop_reference(struct frame_reference *new)
{
    uint64_t frame = new->frame;

    if (frame != 0 && !window_owns(frame, PAGE_SIZE)) {
        frame_reference_drop(new);
        return;
    }
    heap_free(new, sizeof(*new));
    if (frame != 0)
        frame_release(frame);
}

bool content_move_end(struct content *content, uint64_t page, uint64_t frame, struct frame_reference *new)
{
    bool moved = moves(content, page);
    uint64_t *slot, old;

    end_move(content, page, frame);
    if (!moved || frame_of(page_tree_get(&content->tree, page)) != frame) {
        content_drop_reference(new);
        return false;
    }
    slot = page_tree_slot(&content->tree, page);
    *slot &= ~MOVING;
    if (new->frame == 0) {
        content_drop_reference(new);
        return true;
    }
    old = *slot;
    *slot = word_of(new) | (old & SAME);
    release_frame(old);
    return true;
}

struct replacing {
    uint64_t (*copy_of)(const void *context, uint64_t frame);
    const void *context;
};

static void replace_word(void *context, uint64_t page, uint64_t *word)
{
    const struct replacing *replacing = context;
    uint64_t copy = (*word & FOREIGN) != 0 ? replacing->copy_of(replacing->context, frame_of(*word)) : 0;

    (void)page;
    if (copy == 0)
        return;
    reference_of(*word)->frame = copy;
    *word = word_of(reference_of(*word)) | (*word & (SAME | MOVING));
}

bool content_replace(struct content *content, uint64_t *page, uint32_t *left,
                     uint64_t (*copy_of)(const void *context, uint64_t frame), const void *context)
{
    struct replacing replacing = {copy_of, context};

    return page_tree_some(&content->tree, page, left, replace_word, &replacing);
}

struct losing {
    struct content *content;
    uint32_t kernel;
    bool lost;
};

static void lose_word(void *context, uint64_t page, uint64_t *word)
{
    struct losing *losing = context;
    struct content *content = losing->content;

    if ((*word & FOREIGN) == 0 || frame_owner(frame_of(*word)) != losing->kernel)
        return;
    losing->lost = true;
    heap_free(reference_of(*word), sizeof(struct frame_reference));
    *word = (*word & SAME) != 0 && is_archived(content, page) ? 0 : LOST;
}

bool content_lose(struct content *content, uint64_t *page, uint32_t *left, uint32_t kernel, bool *lost)
{
    struct losing losing = {content, kernel, false};
    bool more = page_tree_some(&content->tree, page, left, lose_word, &losing);

    *lost |= losing.lost;
    return more;
}

bool content_has_page(const struct content *content, uint64_t page)
{
    return page < pages_of(content->size) && (is_archived(content, page) || page_tree_get(&content->tree, page) != 0);
}

struct dropping {
    bool dropped;
};

static void drop_idle(void *context, uint64_t page, uint64_t *word)
{
    struct dropping *dropping = context;

    (void)page;
    if ((*word & BITS) != SAME || frame_spaces(frame_of(*word)) != 1)
        return;
    release_frame(*word);
    *word = 0;
    dropping->dropped = true;
}

bool content_drop_idle(struct content *content)
{
    struct dropping dropping = {false};

    page_tree_each(&content->tree, drop_idle, &dropping);
    return dropping.dropped;
}

static void release_word(void *context, uint64_t page, uint64_t *word)
{
    void (*const *pause)(void) = context;

    (void)page;
    release_frame(*word);
    *word = 0;
    if (*pause != NULL)
        (*pause)();
}

void content_free(struct page_tree *cut, void (*pause)(void))
{
    page_tree_each(cut, release_word, &pause);
    page_tree_clear(cut, pause);
}

bool content_some(const struct content *content, uint64_t *page, uint32_t *left,
                  void (*each)(uint64_t frame, void *context), void *context)
{
    uint64_t word;

    for (; page_tree_next(&content->tree, *page, page, &word); (*page)++, (*left)--) {
        if (*left == 0)
            return true;
        if (frame_of(word) != 0)
            each(frame_of(word), context);
    }
    return false;
}
