/* Notes of robust lists: what a kernel away from the home of a process writes into the home's memory (msg_notes_at), so
 * that the home finds the lists of threads that are lost with that kernel. See tasks/futex/futex.md, "The end of a
 * thread".
 *
 * A thread has at most one note, of the kernel where it is, at its home. Its number there is thread->robust_note, which
 * the lock of the group protects. Who writes a note alone knows whose it is; the home only reads. */
#include "tasks/futex/internal.h"

#include "kernel/instance/instance.h"
#include "msg/channel.h"
#include "tasks/futex/futex.h"
#include "tasks/thread/group.h"

#define NOTES (MSG_NOTES_SIZE / sizeof(struct futex_note))
#define TRIES 8u /* notes that are looked at for a free one: where many are in use, the home is asked instead */

static struct spinlock lock;
static uint32_t likely[KERNELS_MAX]; /* [k] lock: by home, the number of a note that may be free */

static volatile struct futex_note *notes_at(uint32_t home)
{
    return msg_notes_at(home);
}

/* Takes a free note at the home of THREAD and writes LIST into it. False: none was found. */
static bool take(struct thread *thread, uint64_t list)
{
    uint32_t home = thread->group->home;
    volatile struct futex_note *notes = notes_at(home);
    uint32_t number = 0, tries = 0;

    if (notes == NULL)
        return false;
    spin_lock(&lock);
    for (; tries < TRIES; tries++) {
        number = (likely[home] + tries) % NOTES;
        if (notes[number].group == 0)
            break;
    }
    likely[home] = (number + 1) % NOTES;
    if (tries < TRIES) {
        notes[number].list = list;
        notes[number].thread = thread->tid;
        __atomic_store_n(&notes[number].group, thread->group->id, __ATOMIC_RELEASE); /* last: the note is valid now */
        thread->robust_note = number + 1;
    }
    spin_unlock(&lock);
    return tries < TRIES;
}

bool futex_note_set_locked(struct thread *thread, uint64_t list)
{
    if (msg_peer_fenced(thread->group->home)) /* nothing is written to a dead kernel, whose processes end */
        return false;
    if (thread->robust_note == 0)
        return thread->context.robust_list == 0 && take(thread, list);
    if (list == 0)
        futex_note_drop_locked(thread);
    else
        __atomic_store_n(&notes_at(thread->group->home)[thread->robust_note - 1].list, list, __ATOMIC_RELAXED);
    return true;
}

void futex_note_drop_locked(struct thread *thread)
{
    uint32_t home = thread->group->home, number = thread->robust_note - 1;

    if (thread->robust_note == 0)
        return;
    thread->robust_note = 0;
    if (msg_peer_fenced(home)) /* the note ends with it */
        return;
    spin_lock(&lock);
    __atomic_store_n(&notes_at(home)[number].group, 0, __ATOMIC_RELEASE);
    likely[home] = number;
    spin_unlock(&lock);
}

void futex_notes_each(const struct group *group, kernel_set kernels,
                      void (*each)(void *context, uint32_t thread, uint64_t list), void *context)
{
    for (; kernels != 0; kernels &= kernels - 1) {
        const volatile struct futex_note *notes = msg_notes_of((uint32_t)__builtin_ctzll(kernels));

        for (uint32_t i = 0; notes != NULL && i < NOTES; i++) {
            if (__atomic_load_n(&notes[i].group, __ATOMIC_ACQUIRE) == group->id)
                each(context, notes[i].thread, notes[i].list);
        }
    }
}
