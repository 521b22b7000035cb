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

#define NAMED 1u          /* of frame_note */
#define TABLE_FRAMES 254u /* a table fills 2 KiB */
#define BUCKETS 256u

struct table {
    struct table *next;                      /* [i] */
    uint64_t number;                         /* [i] of the first frame / TABLE_FRAMES */
    volatile uint64_t backing[TABLE_FRAMES]; /* [a] */
};

static struct spinlock lock;           /* of making tables; they stay */
static struct table *buckets[BUCKETS]; /* [a] */

static struct table *find(uint64_t number)
{
    struct table *table = __atomic_load_n(&buckets[number % BUCKETS], __ATOMIC_ACQUIRE);

    while (table != NULL && table->number != number)
        table = table->next;
    return table;
}

static struct table *make(uint64_t number)
{
    struct table *made = heap_alloc(sizeof(*made)), *there;

    if (made == NULL)
        return NULL;
    spin_lock(&lock);
    there = find(number);
    if (there == NULL) {
        made->number = number;
        made->next = buckets[number % BUCKETS];
        __atomic_store_n(&buckets[number % BUCKETS], made, __ATOMIC_RELEASE);
    }
    spin_unlock(&lock);
    if (there != NULL)
        heap_free(made, sizeof(*made));
    return there != NULL ? there : made;
}

bool frame_set_object_page(uint64_t frame, uint64_t backing)
{
    uint16_t *note = frame_note(frame);
    struct table *table = find(frame / PAGE_SIZE / TABLE_FRAMES);

    if (table == NULL && backing != 0)
        table = make(frame / PAGE_SIZE / TABLE_FRAMES);
    if (table == NULL)
        return backing == 0;
    table->backing[frame / PAGE_SIZE % TABLE_FRAMES] = backing;
    __atomic_store_n(note, NAMED, __ATOMIC_RELEASE);
    return true;
}

uint64_t frame_object_page(uint64_t frame)
{
    const struct table *table = find(frame / PAGE_SIZE / TABLE_FRAMES);

    if (table == NULL || (__atomic_load_n(frame_note(frame), __ATOMIC_ACQUIRE) & NAMED) == 0)
        return 0;
    return table->backing[frame / PAGE_SIZE % TABLE_FRAMES];
}
