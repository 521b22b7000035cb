/* Mapping a frame at one page on this kernel. See the header. */
#include "mm/page/install.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "mm/area/backing.h"
#include "mm/file/object.h"
#include "mm/frame/frame.h"
#include "mm/frame/object_page.h"
#include "mm/frame/reference.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/space/entry.h"

int space_install_locked(struct space *space, uint64_t page, uint64_t frame, uint32_t prot, bool owning, bool cow)
{
    uint64_t *entry = paging_entry(&space->tables, page, true);

    if (entry == NULL)
        return -ENOMEM;
    assert(*entry == 0);
    *entry = space_entry(space, page, frame, prot, cow, owning, 0);
    if (owning) {
        space_hold_pages_locked(space, 1);
        if ((*entry & PAGING_SOFT_REMOTE) == 0)
            frame_share(frame);
    }
    return 0;
}

void space_name_frame(uint64_t frame, uint64_t backing)
{
    if (backing != BACKING_NONE && window_owns(frame, PAGE_SIZE))
        frame_set_object_page(frame, backing);
}

/* Maps PAGE of a file whose pages this kernel keeps, for ACCESS: the file's frame, or a private copy of it. -EAGAIN:
 * with the page's lock it can wait for that. */
static int install_file_locked(struct space *space, uint64_t page, uint32_t prot, uint64_t backing, uint32_t access,
                               const struct placement *where)
{
    struct file_want want = {.written = (access & AREA_WRITE) != 0, .where = where, .address = page};
    bool copy = space_wants_copy(prot, access), elsewhere;
    uint64_t frame = 0;
    int error;

    if (!copy) {
        error = file_object_page(backing, &want, &frame);
        if (error == 0)
            error = space_install_locked(space, page, frame, prot, true, (prot & AREA_SHARED) == 0);
        else if (error > 0 || error == -EXDEV) /* a reference must be counted elsewhere, or a frame got from there */
            return -EAGAIN;
        if (frame != 0)
            frame_release(frame); /* the entry and the file's cache have their own references */
        return error;
    }
    frame = mempolicy_frame_here_locked(space, prot, page, false, &elsewhere);
    if (frame == 0 && elsewhere)
        return -EAGAIN;
    error = frame == 0 ? -ENOMEM : file_object_copy(backing, frame);
    if (error == 0)
        error = space_install_locked(space, page, frame, prot, true, false);
    if (error != 0 && frame != 0)
        frame_free(frame, 0);
    return error;
}

int space_install_file_locked(struct space *space, uint64_t page, const struct area *area, uint32_t access,
                              const struct placement *where)
{
    uint64_t backing = area_backing_at(area, page);
    int error;

    if (backing_kernel(backing) != instance.kernel)
        return 1;
    error = install_file_locked(space, page, area->prot, backing, access, where);
    return error == -EAGAIN ? 1 : error;
}

int space_install(struct space *space, uint64_t page, uint64_t frame, bool owning, bool cow)
{
    const struct area *area;
    const uint64_t *entry;
    int error = -EFAULT;

    spin_lock(&space->lock);
    area = area_find(&space->areas, page);
    entry = paging_look(&space->tables, page);
    if (entry != NULL && *entry != 0)
        error = (*entry & PAGING_FRAME) == frame ? 0 : -EEXIST;
    else if (area != NULL)
        error = space_install_locked(space, page, frame, area->prot, owning, cow);
    if (error == 0 && owning && area != NULL && backing_is_anonymous(area->backing))
        space_name_frame(frame, area_backing_at(area, page));
    spin_unlock(&space->lock);
    return error;
}

void space_answer(struct space *space, uint64_t page, struct msg_space_mapping *answer)
{
    const struct area *area;
    const uint64_t *entry;

    *answer = (struct msg_space_mapping){.kind = SPACE_NONE};
    spin_lock(&space->lock);
    area = area_find(&space->areas, page);
    entry = paging_look(&space->tables, page);
    if (entry != NULL && (*entry & PAGING_SOFT_PENDING_FREE) != 0)
        area = NULL; /* another kernel must not map this frame any more */
    if (entry != NULL && zero_page_is(*entry))
        zero_page_let_go_locked(space, page, paging_entry(&space->tables, page, false));
    if (area != NULL) {
        *answer = (struct msg_space_mapping){
            .kind = SPACE_AREA, .prot = area->prot, .start = area->start, .end = area->end};
        answer->backing = area_backing_at(area, page);
        if (entry != NULL && *entry != 0) {
            answer->kind = SPACE_FRAME;
            answer->frame = *entry & PAGING_FRAME;
            answer->cow = (*entry & PAGING_SOFT_COW) != 0;
            answer->marked = (*entry & PAGING_SOFT_MARKED) != 0;
            answer->replicated = (*entry & PAGING_SOFT_REPLICATED) != 0;
            if ((*entry & PAGING_SOFT_REMOTE) == 0) {
                frame_lend();
                answer->spaces = answer->cow != 0 ? frame_spaces(answer->frame) : 0;
            }
        }
    }
    spin_unlock(&space->lock);
}

void space_drop_new(uint64_t frame)
{
    if (window_owns(frame, PAGE_SIZE))
        frame_free(frame, 0);
    else
        release_one(frame);
}
