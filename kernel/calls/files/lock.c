/* System calls that lock files: flock, and fcntl's locks of processes and of open files. */
#include "kernel/file/lock.h"
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/files/files.h"
#include "kernel/file/remote.h"
#include "kernel/file/table_share.h"
#include "kernel/fs/node/range_lock.h"
#include "kernel/instance/instance.h"
#include "mm/user/user_copy.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/thread/thread.h"

#define LOCK_SH 1u
#define LOCK_EX 2u
#define LOCK_NB 4u
#define LOCK_UN 8u

struct flock { /* Linux's on x86-64 */
    int16_t type, whence;
    int32_t pad;
    int64_t start, length;
    int32_t process;
    int32_t pad_behind;
};

bool files_alone(void)
{
    struct group *group = thread_current()->group;
    bool alone;

    if (group->home != instance.kernel || file_table_is_shared(group->files))
        return false;
    spin_lock(&group->lock);
    alone = group->process->live == 1;
    spin_unlock(&group->lock);
    return alone;
}

/* Called after LOCK was set through FD on the file of ANSWER. If FD no longer refers to that file, another thread has
 * closed it, and its close may have removed the process's locks before this one was set: then removes LOCK. -EBADF.
 * Whether it does is known without a message as long as no descriptor of the process has been closed since this kernel
 * found FD (descriptor_cache.h); the home is asked otherwise. */
static int64_t keep(int64_t fd, const struct file_lock *lock, const struct file_answer *answer)
{
    struct file_request unlock = {.operation = MSG_FILE_LOCK, .lock = LOCK_SET};
    struct file_place place, of_lock = {.id = answer->id, .kernel = answer->kernel};
    struct file_lock none = *lock;
    struct file_answer notified;

    if (file_locate(thread_current()->group, (int32_t)fd, &place) == 0 && place.id == of_lock.id &&
        place.kernel == of_lock.kernel)
        return 0;
    none.type = LOCK_NONE;
    file_call_at(&of_lock, &unlock, &none, sizeof(none), &none, sizeof(none), &notified);
    return -EBADF;
}

/* Sets or tests LOCK through FD. Waits with LOCK_SET_WAIT; with LOCK_TEST, LOCK becomes the result. */
static int64_t ask(int64_t fd, uint32_t how, struct file_lock *lock)
{
    struct file_request request = {.operation = MSG_FILE_LOCK, .fd = (int32_t)fd, .lock = how};
    struct thread *thread = thread_current();
    bool test = how == LOCK_TEST, waited = false;
    bool keeps = !test && lock->type != LOCK_NONE && lock->kind == LOCK_PROCESS && !files_alone();
    /* Where the lock that was set lies is known, unless it was said from the offset or the end of the file. */
    size_t room = test || (keeps && lock->whence != 0) ? sizeof(*lock) : 0;
    struct file_lock back;
    struct file_answer answer;
    int64_t result;

    lock->process = thread->group->id;
    lock->task = thread->tid;
    for (;;) {
        result = file_call(thread->group, &request, lock, sizeof(*lock), room > 0 ? &back : NULL, room, &answer);
        if (result != -EAGAIN || (answer.flags & FILE_MAY_WAIT) == 0)
            break;
        waited = true;
        result = files_wait(&answer, "lock of a file");
        if (result < 0)
            break;
    }
    if (waited && result != 0 && lock->kind == LOCK_PROCESS)
        file_lock_over();
    if (result == 0 && keeps)
        result = keep(fd, room > 0 ? &back : lock, &answer);
    if (result == 0 && test)
        *lock = back;
    return result;
}

int64_t files_lock(int64_t fd, uint32_t command, uint64_t address)
{
    bool of_file = command >= F_OFD_GETLK, test = command == F_GETLK || command == F_OFD_GETLK;
    uint32_t how = test ? LOCK_TEST : command == F_SETLKW || command == F_OFD_SETLKW ? LOCK_SET_WAIT : LOCK_SET;
    struct file_lock lock = {.kind = of_file ? LOCK_OPEN_FILE : LOCK_PROCESS,
                             .uid = thread_current()->context.credentials.euid};
    struct flock flock;
    int64_t result;

    if (user_read(&flock, address, sizeof(flock)) != 0)
        return files_error(fd, -EFAULT);
    if (flock.whence < 0 || flock.type < 0 || (of_file && flock.process != 0))
        return files_error(fd, -EINVAL);
    lock.type = (uint32_t)flock.type;
    lock.whence = (uint32_t)flock.whence;
    lock.start = flock.start;
    lock.length = flock.length;
    result = ask(fd, how, &lock);
    if (result != 0 || !test)
        return result;
    flock.type = (int16_t)lock.type;
    if (lock.type != LOCK_NONE) {
        flock.whence = 0;
        flock.start = lock.start;
        flock.length = lock.length;
        flock.process = (int32_t)lock.process;
    }
    return user_write(address, &flock, sizeof(flock)) != 0 ? -EFAULT : 0;
}

int64_t call_flock(struct call *c)
{
    int64_t fd = (int32_t)c->a[0];
    uint32_t how = (uint32_t)c->a[1] & ~LOCK_NB;
    struct file_lock lock = {.kind = LOCK_WHOLE, .uid = thread_current()->context.credentials.euid};

    if (how != LOCK_SH && how != LOCK_EX && how != LOCK_UN)
        return files_error(fd, -EINVAL);
    lock.type = how == LOCK_SH ? LOCK_READ : how == LOCK_EX ? LOCK_WRITE : LOCK_NONE;
    return ask(fd, ((uint32_t)c->a[1] & LOCK_NB) != 0 ? LOCK_SET : LOCK_SET_WAIT, &lock);
}
