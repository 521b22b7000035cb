/* The descriptor cache. See the header.
 *
 * Why a cached entry is right: the home changes a descriptor and the count under the table's lock, and it has read the
 * count before it looked the descriptor up under that lock. So while the count is the same, no call that changes the
 * descriptor has returned. A change under way has not been seen by any thread yet, so the operation may be ordered
 * before it. A file that has been closed by all answers -ESRCH, and ids are never used again. */
#include "kernel/file/descriptor_cache.h"

#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/file/rule.h"
#include "kernel/instance/instance.h"
#include "msg/channel.h"

#define ENTRIES 256u
#define INDEX_BITS 9u
#define COUNTS (MSG_BOARD_ACTIONS - MSG_BOARD_FILES)

_Static_assert(COUNTS <= 1u << INDEX_BITS, "an index fits");

/* One entry for all descriptors with the same hash; the last one looked up has it. */
struct known {
    struct spinlock lock;
    uint32_t group; /* 0: the entry is empty */
    int32_t fd;
    uint32_t kernel;
    uint64_t id;
    uint64_t stamp; /* the home's count at that time << INDEX_BITS | the index of the count */
    uint32_t home;
    bool locks; /* the home has noted that the process uses locks */
};

static struct known entries[ENTRIES]; /* each under its lock */
static uint32_t counts_given;         /* [a] */

uint16_t descriptor_cache_count_new(void)
{
    return (uint16_t)(__atomic_fetch_add(&counts_given, 1, __ATOMIC_RELAXED) % COUNTS);
}

void descriptor_cache_changed(uint16_t count)
{
    __atomic_fetch_add(&msg_board_own()[MSG_BOARD_FILES + count], 1, __ATOMIC_RELEASE);
}

uint64_t descriptor_cache_stamp(uint16_t count)
{
    return __atomic_load_n(&msg_board_own()[MSG_BOARD_FILES + count], __ATOMIC_ACQUIRE) << INDEX_BITS | count;
}

static bool is_as_then(uint32_t home, uint64_t stamp)
{
    const volatile uint64_t *board = msg_board_of(home);
    uint64_t index = stamp & ((1u << INDEX_BITS) - 1);

    return board != NULL && index < COUNTS &&
           (__atomic_load_n(&board[MSG_BOARD_FILES + index], __ATOMIC_ACQUIRE) << INDEX_BITS | index) == stamp;
}

static struct known *entry_of(uint32_t group, int32_t fd)
{
    return &entries[(group * 31u + (group >> 16) * 7u + (uint32_t)fd) % ENTRIES];
}

/* LOCKS: only an entry of a process whose home has noted that it uses locks. */
static inline bool find(uint32_t group, uint32_t home, int32_t fd, bool locks, struct file_place *out)
{
    struct known *k = entry_of(group, fd);
    bool found;

    /* Checked again under the lock. Most often the home has the file itself, and nothing is cached. */
    if (__atomic_load_n(&k->group, __ATOMIC_RELAXED) != group)
        return false;
    spin_lock(&k->lock);
    found = k->group == group && k->fd == fd && k->home == home && (k->locks || !locks) && is_as_then(home, k->stamp);
    if (found)
        *out = (struct file_place){.id = k->id, .kernel = k->kernel};
    spin_unlock(&k->lock);
    return found;
}

bool descriptor_cache_find(uint32_t group, uint32_t home, const struct file_request *request, struct file_place *out)
{
    return !file_is_for_table(request->operation) && request->fd >= 0 &&
           find(group, home, request->fd, request->operation == MSG_FILE_LOCK, out);
}

bool descriptor_cache_locate(uint32_t group, uint32_t home, int32_t fd, struct file_place *out)
{
    return find(group, home, fd, false, out);
}

void descriptor_cache_note(uint32_t group, uint32_t home, int32_t fd, const struct file_place *place,
                           const struct file_answer *answer)
{
    struct known *k = entry_of(group, fd);

    if ((answer->flags & FILE_STAMPED) == 0)
        return;
    spin_lock(&k->lock);
    k->locks = (answer->flags & FILE_NOTED) != 0;
    k->group = group;
    k->fd = fd;
    k->kernel = place->kernel;
    k->id = place->id;
    k->stamp = answer->seen;
    k->home = home;
    spin_unlock(&k->lock);
}

void descriptor_cache_forget(uint32_t group, int32_t fd)
{
    struct known *k = entry_of(group, fd);

    spin_lock(&k->lock);
    if (k->group == group && k->fd == fd)
        k->group = 0;
    spin_unlock(&k->lock);
}

void descriptor_cache_forget_all(void)
{
    for (uint32_t i = 0; i < ENTRIES; i++)
        entries[i].group = 0;
}
