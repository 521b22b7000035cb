/* Which pages frames hold. See the header.
 *
 * A table has a word for each of some consecutive frames, and is made when one of them gets a name for the first time.
 * Whether a frame's word counts is a bit of its note, which whoever allocates the frame next finds cleared: so freeing
 * a frame costs nothing. */
#include "mm/frame/object_page.h"

#include <stddef.h>

#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/panic.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/note.h"

#define TABLE_FRAMES 512u
#define TABLE_SHIFT (PAGE_SHIFT + 9)
#define BUCKETS 256u

_Static_assert(TABLE_FRAMES * sizeof(uint64_t) == PAGE_SIZE, "a table is a frame");

struct table {
    struct table *next;         /* [i] */
    uint64_t number;            /* [i] physical address of its frames >> TABLE_SHIFT */
    volatile uint64_t *backing; /* [i] the array, in a frame of its own; [a] its words */
};

static struct spinlock lock;           /* of making tables; they stay */
static struct table *buckets[BUCKETS]; /* [a] */
static uint64_t tables;                /* [k] lock; [a] for object_page_tables */

static inline struct table *find(uint64_t frame)
{
    uint64_t number = frame >> TABLE_SHIFT;
    struct table *table = __atomic_load_n(&buckets[number % BUCKETS], __ATOMIC_ACQUIRE);

    while (table != NULL && table->number != number)
        table = table->next;
    return table;
}

static inline uint32_t place_of(uint64_t frame)
{
    return (uint32_t)(frame >> PAGE_SHIFT) % TABLE_FRAMES;
}

static __attribute__((noinline)) struct table *make(uint64_t frame)
{
    struct table *made = heap_alloc(sizeof(*made)), *there;
    uint64_t words = made != NULL ? frame_alloc_zeroed() : 0;

    if (words == 0) {
        heap_free(made, sizeof(*made));
        return NULL;
    }
    made->backing = (volatile uint64_t *)(DIRECT_BASE + words);
    made->number = frame >> TABLE_SHIFT;
    spin_lock(&lock);
    there = find(frame);
    if (there == NULL) {
        made->next = buckets[made->number % BUCKETS];
        __atomic_store_n(&buckets[made->number % BUCKETS], made, __ATOMIC_RELEASE);
        __atomic_store_n(&tables, tables + 1, __ATOMIC_RELAXED);
    }
    spin_unlock(&lock);
    if (there == NULL)
        return made;
    frame_free(words, 0);
    heap_free(made, sizeof(*made));
    return there;
}

uint64_t object_page_tables(void)
{
    return __atomic_load_n(&tables, __ATOMIC_RELAXED);
}

bool frame_set_object_page(uint64_t frame, uint64_t backing)
{
    struct table *table = find(frame);

    if (table == NULL && backing != 0)
        table = make(frame);
    if (table == NULL)
        return backing == 0;
    table->backing[place_of(frame)] = backing;
    __atomic_fetch_or(frame_note(frame), NOTE_NAMED, __ATOMIC_RELEASE);
    return true;
}

uint64_t frame_object_page(uint64_t frame)
{
    const struct table *table = find(frame);

    if (table == NULL || (__atomic_load_n(frame_note(frame), __ATOMIC_ACQUIRE) & NOTE_NAMED) == 0)
        return 0;
    return table->backing[place_of(frame)];
}
