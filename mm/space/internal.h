/* What the files of mm/ share among themselves. */
#ifndef MM_SPACE_INTERNAL_H
#define MM_SPACE_INTERNAL_H

#include "mm/space/space.h"

#define LEAF_ENTRIES 512u
#define LEAF_SIZE (LEAF_ENTRIES * PAGE_SIZE)

#define MAP_LOW 0x10000ull            /* as Linux's mmap_min_addr */
#define MAP_TOP 0x00007fff00000000ull /* mappings grow down from here; the stack lies above */
#define MAP_FILL 1ull                 /* beside the address of a new area: it is to be filled */

static inline uint64_t page_up(uint64_t bytes)
{
    return (bytes + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
}

static inline struct space_range space_change_range(const struct msg_space_change *change)
{
    return (struct space_range){change->start, change->start + change->length};
}

/* Page table flags for an area's protection; 0 when it allows nothing. */
uint64_t space_entry_flags(uint32_t prot);
/* The same for a page's entry: COW ones are not writable. */
static inline uint64_t space_page_flags(uint32_t prot, bool cow)
{
    return cow ? (space_entry_flags(prot) & ~PAGING_WRITE) | PAGING_SOFT_COW : space_entry_flags(prot);
}

/* Entries hold PAGES more, or less, in SPACE on this kernel. */
static inline void space_hold_pages_locked(struct space *space, int64_t pages)
{
    space->resident += pages;
    if (space->resident > (int64_t)space->peak)
        space->peak = (uint64_t)space->resident;
}

/* 1 if ENTRY's page came with another one's answer and was touched since, else 0. */
static inline uint32_t space_prefetch_used(uint64_t entry)
{
    return (entry & (PAGING_SOFT_PREFETCHED | PAGING_ACCESSED)) == (PAGING_SOFT_PREFETCHED | PAGING_ACCESSED) ? 1 : 0;
}

/* True when this kernel is the home, no other hosts the space, and no task here has a distributed lock of it: then
 * space->lock alone decides. */
bool space_alone_locked(const struct space *space);
/* True when what this kernel does not have at PAGE nobody has, and nobody is about to change that. */
bool space_complete_locked(const struct space *space, uint64_t page);
/* The other kernels that host the space, as far as is known here. */
kernel_set space_others(struct space *space);

/* [i] False, with ranges=off: tasks lock one page or, for all that is more, all of them, as published. */
extern bool space_ranges;
/* The distributed lock of RANGE, by the strategy. While a task here has one or waits, nobody is alone. */
int space_acquire(struct space *space, struct space_range range);
void space_release(struct space *space, struct space_range range);

/* At the home (mm/change/limit.c): SPACE has limits of what it maps; it may have [START, END) with PROT besides what it
 * has elsewhere; and how large an area that grows may be. */
bool space_limited_locked(const struct space *space);
bool space_may_have_locked(const struct space *space, uint32_t prot, uint64_t start, uint64_t end);
uint64_t space_stack_most_locked(const struct space *space);

/* At the home: where LENGTH bytes go, HOW (SPACE_MAP_LOW) and, when HINT is not 0, there if it is free. Nobody has
 * anything there or, without SPACE_MAP_BUSY, is about to change something, and areas that grow keep their distance.
 * 0: there is no room. */
uint64_t space_room_locked(const struct space *space, uint64_t hint, uint64_t length, uint32_t how);
/* The highest such place within [BOTTOM, HIGH), or 0. */
uint64_t space_gap_locked(const struct space *space, uint64_t length, uint64_t bottom, uint64_t high, uint32_t how);
/* LENGTH bytes with PROT (AREA_*) can be promised: not more than the whole machine has, as Linux's
 * vm.overcommit_memory=0. */
bool space_promised(uint32_t prot, uint64_t length);
/* At the home: SPACE_GROWTH and SPACE_GROW. */
int64_t space_apply_growth_locked(struct space *space, const struct msg_space_change *change);
/* At the home: what has to be known before it is said whether an area grows down to PAGE. False: none does. */
bool space_growth_range_locked(const struct space *space, uint64_t page, struct space_range *range);
/* A fault that wants ACCESS found nothing at PAGE: lets an area that grows down come to it. 0: look again; -EFAULT,
 * -EACCES, -ENOMEM. Waits. */
int space_grow(struct space *space, uint64_t page, uint32_t access);
/* Makes the pages of [START, END) usable for ACCESS (AREA_*), one after the other, without letting an area grow.
 * Stops at the first error: -EFAULT, -EACCES, -ENOMEM. Waits. */
int space_touch(struct space *space, uint64_t start, uint64_t end, uint32_t access);

/* The ranges are locked, and every page of [FROM, FROM + LENGTH), which is shared, is mapped here: makes [TO, TO +
 * ROOM) an area with PROT whose first pages have the same frames. -EAGAIN: one page is not mapped here; -EEXIST:
 * something is at TO; -ENOMEM. Waits. */
int space_duplicate(struct space *space, uint64_t from, uint64_t length, uint64_t to, uint64_t room, uint32_t prot);

/* SPACE_CHECK, SPACE_FLAG, SPACE_RESIDENT, SPACE_LATER. */
int64_t space_apply_advice_locked(struct space *space, const struct msg_space_change *change);
/* At the home: SPACE_BREAK. */
int64_t space_apply_break_locked(struct space *space, const struct msg_space_change *change);
/* On every kernel, one after the other: SPACE_PREPARE and then SPACE_MOVE or SPACE_CANCEL. */
int64_t space_apply_move_locked(struct space *space, const struct msg_space_change *change);
/* An area that ends at END is not too near to one above it that grows. */
bool space_gap_kept_locked(const struct space *space, uint64_t end);

/* CHANGE on this kernel alone, and the end of what it has put in limbo (-ENOMEM: frames of other kernels are left, for
 * there is no memory to tell the owners). */
int64_t space_apply_locked(struct space *space, const struct msg_space_change *change);
int space_settle_locked(struct space *space, uint64_t start, uint64_t end);
/* Areas and entries of the range go; what is held is in limbo then. -ENOMEM: nothing has happened. */
int space_unmap_locked(struct space *space, uint64_t start, uint64_t length);
/* The range of CHANGE is leased to this kernel, and what is to be there may be: places are found by lease_room_locked.
 */
bool space_leased_locked(const struct space *space, const struct msg_space_change *change);
/* At the home, for a task: what others have leased, and CHANGE needs to know, is recalled. 0 or -ENOMEM. Waits. */
int space_recall_for(struct space *space, const struct msg_space_change *change);
/* The range is locked. CHANGE on this kernel; and on all but the home. 0 or an errno. They wait. */
int space_apply_own(struct space *space, const struct msg_space_change *change);
int space_apply_others(struct space *space, const struct msg_space_change *change, const char *why);
/* The range is locked: everyone lets go of it by OPERATION, SPACE_UNMAP or SPACE_DISCARD; then the references are let
 * go of. Waits. */
int space_unmap_everywhere(struct space *space, uint64_t start, uint64_t length, uint32_t operation);
void space_count_change(struct space *space);

/* The range of CHANGE is locked, if it has to be: the home's word on what only it can decide. */
int64_t space_ask_home(struct space *space, const struct msg_space_change *change);

/* A private page that is not writable because of PAGING_SOFT_COW is to be written. Locked: the space is alone. 0, or 1:
 * the frame's owner has to be asked, so take the page's lock; -ENOMEM. */
int space_cow_alone_locked(struct space *space, uint64_t page, uint64_t *entry, uint32_t prot);
/* The same with the page's lock; FRAME is what the page has, mapped here or not; its area is known here. Waits. */
int space_cow_break(struct space *space, uint64_t page, uint64_t frame);

/* A frame for a new page, ours or given by a peer, is not needed after all. Waits. */
void space_drop_new(uint64_t frame);
/* Copies a page from FROM, which may be a peer's memory, to TO, which is ours. */
void space_copy_frame(uint64_t to, uint64_t from);
/* Copies SIZE bytes at OFFSET of a page, which may be a peer's memory, to BYTES, or from there. They do not wait. */
void space_frame_bytes(uint64_t frame, uint32_t offset, void *bytes, uint32_t size, bool write);
/* Fills a page, which may be a peer's memory, with zeros. */
void space_zero_frame(uint64_t frame);

/* Calls EACH for every space here that messages find. Programs stand still: none comes or goes; EACH may wait. */
void space_each(void (*each)(struct space *space, void *context), void *context);

/* The space here, that messages find, with the lowest id from ID on; with a reference, or NULL. */
struct space *space_next(uint64_t id);

/* What this kernel has at PAGE, as an answer to a fetch; an own frame counts as lent once more. */
void space_answer(struct space *space, uint64_t page, struct msg_space_mapping *answer);
/* Maps FRAME at PAGE with its area's protection; HELD: with the space's reference, which is counted now; COW: the frame
 * is only to be read. -EFAULT: no area; -EEXIST: another frame is there; -ENOMEM. */
int space_install(struct space *space, uint64_t page, uint64_t frame, bool held, bool cow);
/* PAGE, which nobody has, lies in AREA, which has a file behind it: maps what ACCESS needs, held, if the file is this
 * kernel's. 1: it is another's; -ENXIO: behind the end of the file; -ENOMEM. */
int space_install_file_locked(struct space *space, uint64_t page, const struct area *area, uint32_t access);
/* space->lock is held: as space_mode_note; and, at the home, the mode after a change to STRATEGY, which it has now. */
void space_mode_note_locked(struct space *space, uint64_t mode);
uint64_t space_mode_next_locked(struct space *space, uint32_t strategy);
/* Home only, all of SPACE is locked: the home maps every page that any kernel has. A negative errno: a part of them.
 * What the directory of pages is filled from when it begins. Waits. */
int space_directory_fill(struct space *space);
/* Which of COUNT names the boot option OPTION has. Another value is said, and it and none mean the first. */
size_t space_choose(const char *option, const char *const *names, size_t count);
/* The mode of a new space: what the options say. */
void space_mode_start(struct space *space);

/* For strategies: the best answer so far, and an errno of one who could not. */
struct space_fetching {
    struct msg_space_mapping *answer;
    int error;
};
/* Takes an answer to SPACE_FETCH into the struct space_fetching at CONTEXT. */
void space_take_mapping(void *context, uint32_t kernel, const void *reply, int length);
/* What this kernel knows of the area is an answer too. */
void space_add_own_area(struct space *space, uint64_t page, struct msg_space_mapping *answer);
/* Where the home's page tables are the directory. */
int space_fetch_home(struct space *space, uint64_t page, struct msg_space_mapping *answer);
int space_record_home(struct space *space, uint64_t page, uint64_t frame, bool cow);
int space_record_many_home(struct space *space, const struct msg_space_pair *pairs, uint32_t count);
/* For strategy adaptive: an answer has come for PAGE. */
void space_adapt_answer_locked(struct space *space, const struct msg_space_got *answer, uint64_t page);
/* A fault that began then (ns) has been answered. True: get all that there is. */
bool space_adapt_fault(struct space *space, uint64_t began);
/* This kernel gets all that the home has. Waits. A negative errno: a part of it. */
int space_fill(struct space *space);
/* Where whoever wants to know of a new frame asks everybody. */
int space_record_nothing(struct space *space, uint64_t page, uint64_t frame, bool cow);
int space_record_none_of_many(struct space *space, const struct msg_space_pair *pairs, uint32_t count);

/* Writes the areas of SPACE, whose home this kernel is, from FROM on behind HEAD (MSG_MAX bytes); returns the length.
 */
uint32_t space_list_areas(struct space *space, uint64_t from, struct msg_space_areas *head);

/* What the kernels say that are to let go of a page, and takes their answers (struct msg_space_held): for a multicast,
 * with a struct letting_go as context. */
struct letting_go {
    bool held; /* one of them had the reference */
    int error; /* one of them has not let go */
};
void space_note_held(void *context, uint32_t kernel, const void *reply, int length);

#endif
