/* Blocks of memory on chosen nodes. libc/numa.h is the contract. */
#include "libc/numa.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/abi/kettle.h"

#define PAGE ((size_t)4096)
#define ASKED 512u /* pages of which one call of move_pages tells */
#define NAME_MAX 31u

enum { PREFERRED = 1, INTERLEAVE = 3, LOCAL = 4, WEIGHTED = 6 }; /* MPOL_* */
#define MOVE 2u                                                  /* MPOL_MF_MOVE, _LAZY, _LAZY_TARGET */
#define LAZY 8u
#define LAZY_TARGET 0x10000u
#define ALLOWED 4u        /* MPOL_F_MEMS_ALLOWED */
#define LINUX_NODES 1024u /* get_mempolicy wants room for as many as the kernel may know */

static size_t pages_of(size_t size)
{
    return size / PAGE + (size % PAGE != 0);
}

static long refuse(int error)
{
    errno = error;
    return -1;
}

uint64_t kettle_nodes(void)
{
    unsigned long nodes[LINUX_NODES / 64] = {0};

    return syscall(SYS_get_mempolicy, NULL, nodes, (long)LINUX_NODES, NULL, ALLOWED) == 0 ? nodes[0] : 1;
}

static bool is_node(int node, uint64_t nodes)
{
    return node >= 0 && node < KETTLE_NODES && (nodes >> node & 1) != 0;
}

/* Sets the policy of whole pages. */
static int bind_pages(const void *at, size_t pages, int mode, uint64_t nodes, unsigned flags)
{
    unsigned long mask[2] = {nodes, 0};

    return (int)syscall(SYS_mbind, at, pages * PAGE, (long)mode, mask, (long)KETTLE_NODES + 1, (long)flags);
}

/* --- blocks --- */

void *kettle_block_local(size_t size)
{
    void *block;

    if (size == 0 || size > SIZE_MAX - PAGE) {
        errno = size == 0 ? EINVAL : ENOMEM;
        return NULL;
    }
    block = mmap(NULL, pages_of(size) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block != MAP_FAILED ? block : NULL;
}

static void *make(size_t size, int mode, uint64_t nodes)
{
    void *block;

    if (nodes == 0 || (nodes & ~kettle_nodes()) != 0) {
        errno = EINVAL;
        return NULL;
    }
    block = kettle_block_local(size);
    if (block != NULL && bind_pages(block, pages_of(size), mode, nodes, 0) != 0) {
        int error = errno;

        munmap(block, pages_of(size) * PAGE);
        errno = error;
        return NULL;
    }
    return block;
}

void *kettle_block_on(size_t size, int node)
{
    return make(size, PREFERRED, node >= 0 && node < KETTLE_NODES ? 1ull << node : 0);
}

void *kettle_block_interleaved(size_t size, uint64_t nodes)
{
    return make(size, INTERLEAVE, nodes != 0 ? nodes : kettle_nodes());
}

void *kettle_block_weighted(size_t size, uint64_t nodes)
{
    return make(size, WEIGHTED, nodes != 0 ? nodes : kettle_nodes());
}

int kettle_block_free(void *block, size_t size)
{
    return munmap(block, pages_of(size) * PAGE);
}

/* --- asking --- */

/* Calls EACH for the node of each page that has a frame. 0, or -1 with errno. */
static int each_page(const void *block, size_t pages, void (*each)(void *context, size_t page, int node), void *context)
{
    for (size_t first = 0; first < pages; first += ASKED) {
        size_t count = pages - first < ASKED ? pages - first : ASKED;
        const char *at[ASKED];
        int status[ASKED];

        for (size_t i = 0; i < count; i++)
            at[i] = (const char *)block + (first + i) * PAGE;
        if (syscall(SYS_move_pages, 0L, count, at, NULL, status, 0L) != 0)
            return -1;
        for (size_t i = 0; i < count; i++) {
            if (status[i] >= 0 && status[i] < KETTLE_NODES)
                each(context, first + i, status[i]);
        }
    }
    return 0;
}

/* Whether all pages are mapped: move_pages does not tell those that are not from those never touched. */
static bool is_mapped(const void *block, size_t pages)
{
    unsigned char resident[ASKED];

    for (size_t first = 0; first < pages; first += ASKED) {
        size_t count = pages - first < ASKED ? pages - first : ASKED;

        if (mincore((char *)(uintptr_t)block + first * PAGE, count * PAGE, resident) != 0) {
            errno = errno == ENOMEM ? EFAULT : errno;
            return false;
        }
    }
    return true;
}

static void count_page(void *context, size_t page, int node)
{
    (void)page;
    ((size_t *)context)[node]++;
}

long kettle_block_where(const void *block, size_t size, size_t pages[KETTLE_NODES])
{
    size_t sum = 0;

    if (size == 0)
        return refuse(EINVAL);
    memset(pages, 0, KETTLE_NODES * sizeof(pages[0]));
    if (!is_mapped(block, pages_of(size)) || each_page(block, pages_of(size), count_page, pages) != 0)
        return -1;
    for (size_t node = 0; node < KETTLE_NODES; node++)
        sum += pages[node];
    return (long)sum;
}

/* --- moving --- */

long kettle_block_move(void *block, size_t size, int node)
{
    size_t on[KETTLE_NODES];
    long all;

    if (size == 0 || !is_node(node, kettle_nodes()))
        return refuse(EINVAL);
    if (bind_pages(block, pages_of(size), PREFERRED, 1ull << node, MOVE) != 0)
        return -1;
    all = kettle_block_where(block, size, on);
    return all < 0 ? -1 : all - (long)on[node];
}

int kettle_block_move_later(void *block, size_t size, int node, int by_target)
{
    bool toucher = node == KETTLE_TOUCHER;

    if (size == 0 || (toucher ? by_target != 0 : !is_node(node, kettle_nodes())))
        return (int)refuse(EINVAL);
    return bind_pages(block, pages_of(size), toucher ? LOCAL : PREFERRED, toucher ? 0 : 1ull << node,
                      MOVE | LAZY | (by_target != 0 ? LAZY_TARGET : 0));
}

long kettle_block_replicate(void *block, size_t size)
{
    return size == 0 ? refuse(EINVAL) : syscall(KETTLE_CALL_REPLICATE, block, pages_of(size) * PAGE);
}

int kettle_block_follow(void *block, size_t size, uint64_t nodes, const char *policy)
{
    return size == 0 ? (int)refuse(EINVAL)
                     : (int)syscall(KETTLE_CALL_FOLLOW, block, pages_of(size) * PAGE, nodes, policy);
}

int kettle_group_join(int thread, int group)
{
    return group < 0 ? (int)refuse(EINVAL) : (int)syscall(KETTLE_CALL_GROUP, thread, group);
}

int kettle_group_of(int thread)
{
    return (int)syscall(KETTLE_CALL_GROUP, thread, -1);
}

int kettle_block_gather(void *block, size_t size, int group)
{
    return size == 0 ? (int)refuse(EINVAL) : (int)syscall(KETTLE_CALL_GATHER, block, pages_of(size) * PAGE, group);
}

struct placing {
    const int8_t *wanted; /* for each page its node; -1: it stays */
    long elsewhere;
};

static void count_elsewhere(void *context, size_t page, int node)
{
    struct placing *placing = context;

    placing->elsewhere += placing->wanted[page] >= 0 && placing->wanted[page] != node;
}

/* Moves the rows of pages that are wanted on one node. */
static int move_rows(char *block, const int8_t *wanted, size_t pages)
{
    for (size_t first = 0, end; first < pages; first = end) {
        for (end = first + 1; end < pages && wanted[end] == wanted[first];)
            end++;
        if (wanted[first] >= 0 &&
            bind_pages(block + first * PAGE, end - first, PREFERRED, 1ull << wanted[first], MOVE) != 0)
            return -1;
    }
    return 0;
}

long kettle_block_place(void *block, size_t size, kettle_placement place, void *context)
{
    size_t pages = pages_of(size);
    uint64_t nodes = kettle_nodes();
    int8_t *wanted = size != 0 ? malloc(pages) : NULL;
    struct placing placing = {wanted, 0};
    int error = wanted == NULL ? (size == 0 ? EINVAL : ENOMEM) : 0;

    for (size_t page = 0; page < pages && error == 0; page++) {
        int node = place(context, page, pages);

        if (node != -1 && !is_node(node, nodes))
            error = EINVAL;
        wanted[page] = (int8_t)node;
    }
    if (error == 0 && (move_rows(block, wanted, pages) != 0 || each_page(block, pages, count_elsewhere, &placing) != 0))
        error = errno;
    free(wanted);
    return error != 0 ? refuse(error) : placing.elsewhere;
}

static int place_parts(void *context, size_t page, size_t pages)
{
    uint64_t nodes = kettle_nodes();
    size_t part = page * (size_t)__builtin_popcountll(nodes) / pages;

    (void)context;
    for (; part > 0; part--)
        nodes &= nodes - 1;
    return __builtin_ctzll(nodes);
}

struct registered {
    char name[NAME_MAX + 1];
    kettle_placement place;
    void *context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registered registry[KETTLE_PLACEMENTS] = {{"parts", place_parts, NULL}};
static size_t registered_count = 1;

static const struct registered *find_locked(const char *name)
{
    for (size_t i = 0; i < registered_count; i++) {
        if (strcmp(registry[i].name, name) == 0)
            return &registry[i];
    }
    return NULL;
}

int kettle_placement_register(const char *name, kettle_placement place, void *context)
{
    size_t length = strnlen(name, NAME_MAX + 1);
    int error = length == 0 || length > NAME_MAX || place == NULL ? EINVAL : 0;

    pthread_mutex_lock(&lock);
    if (error == 0 && find_locked(name) != NULL)
        error = EEXIST;
    if (error == 0 && registered_count == KETTLE_PLACEMENTS)
        error = ENOSPC;
    if (error == 0) {
        struct registered *one = &registry[registered_count++];

        memcpy(one->name, name, length + 1);
        one->place = place;
        one->context = context;
    }
    pthread_mutex_unlock(&lock);
    return error != 0 ? (int)refuse(error) : 0;
}

long kettle_block_place_by(void *block, size_t size, const char *name)
{
    const struct registered *found; /* entries stay, and do not change */

    pthread_mutex_lock(&lock);
    found = find_locked(name);
    pthread_mutex_unlock(&lock);
    return found != NULL ? kettle_block_place(block, size, found->place, found->context) : refuse(ENOENT);
}

/* --- counters --- */

/* Reads the file NAME of NODE whole. False, with errno: it is not there, or does not fit. */
static bool read_file(int node, const char *name, char *text, size_t size)
{
    char path[64];
    ssize_t length;
    int fd;

    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/%s", node, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    length = read(fd, text, size);
    close(fd);
    if (length < 0 || (size_t)length == size) {
        errno = length < 0 ? errno : EIO;
        return false;
    }
    text[length] = '\0';
    return true;
}

/* Sets *NUMBER to the number behind WORD. */
static bool find_number(const char *text, const char *word, uint64_t *number)
{
    const char *at = strstr(text, word);
    char *end;

    if (at == NULL)
        return false;
    at += strlen(word);
    *number = strtoull(at, &end, 10);
    return end != at;
}

int kettle_node_counts(int node, struct kettle_node_counts *counts)
{
    char text[8192];

    if (!read_file(node, "numastat", text, sizeof(text)))
        return -1;
    if (!find_number(text, "numa_hit ", &counts->hit) || !find_number(text, "numa_miss ", &counts->miss) ||
        !find_number(text, "numa_foreign ", &counts->foreign) ||
        !find_number(text, "interleave_hit ", &counts->interleave) ||
        !find_number(text, "local_node ", &counts->local) || !find_number(text, "other_node ", &counts->other))
        return (int)refuse(EIO);
    if (!read_file(node, "meminfo", text, sizeof(text)))
        return -1;
    if (!find_number(text, "MemTotal:", &counts->size) || !find_number(text, "MemFree:", &counts->free))
        return (int)refuse(EIO);
    counts->size *= 1024;
    counts->free *= 1024;
    return 0;
}
