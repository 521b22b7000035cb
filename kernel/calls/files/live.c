/* Memory and descriptors of processes, as files. See the header. */
#include "kernel/calls/files/live.h"

#include "kernel/calls/common/files.h"
#include "kernel/file/remote.h"
#include "kernel/fs/proc/live.h"
#include "kernel/fs/sys/sys.h"
#include "kernel/fs/text/dirent.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "kernel/process/reach.h"
#include "mm/frame/heap.h"
#include "tasks/account/facts.h"
#include "tasks/process/permission.h"
#include "tasks/thread/thread.h"

#define DESCRIPTORS 256u /* descriptors per request */
#define FIRST 2          /* offset of descriptor 0 in a listing, behind "." and ".." */

/* Returns whether PROCESS is the caller's and no longer runs PROGRAM. For the caller's own process this check suffices,
 * because the program cannot change during the call. For another process the home checks it with the access. */
static bool is_replaced(uint32_t process, uint64_t program)
{
    struct process_facts facts;

    return process == thread_current()->group->id &&
           (process_facts_of(process, &facts) != 0 || facts.program_ns != program);
}

int64_t live_memory(int64_t fd, const struct file_answer *answer, int64_t at, uint8_t *buffer, uint64_t size,
                    bool write)
{
    struct msg_reach part = {.target = {.process = (uint32_t)answer->seen, .program = answer->id}};
    int64_t place = at >= 0 ? at : files_seek(fd, 0, 1), done = 0, count = 0;

    if (place < 0 || size == 0)
        return place < 0 ? place : 0;
    if (answer->seen == FILE_YOURS_WEIGHT) {
        count = sys_set_weight((uint32_t)answer->id, (const char *)buffer, size);
        if (at < 0 && count > 0)
            files_seek(fd, count, 1);
        return count;
    }
    if (is_replaced(part.target.process, part.target.program) || credentials_may_reach(part.target.process, true) != 0)
        return 0; /* that memory no longer exists, or the caller may not access it any more */
    do {
        part.address = (uint64_t)(place + done);
        part.size = size - (uint64_t)done < REACH_MAX ? size - (uint64_t)done : REACH_MAX;
        count = write ? reach_write(&part, buffer + done) : reach_read(&part, buffer + done);
        done += count > 0 ? count : 0;
    } while (count == (int64_t)part.size && (uint64_t)done < size);
    if (done == 0)
        return count == -ESRCH ? 0 : count == -ENOMEM ? -ENOMEM : -EIO;
    if (at < 0)
        files_seek(fd, done, 1);
    return done;
}

struct listing {
    uint8_t *buffer;
    size_t room, done;
    int64_t place; /* offset of the next entry */
    bool full;
};

static void put(struct listing *listing, const char *name, uint64_t inode, uint32_t mode, int64_t next)
{
    size_t size = dirent_write(NULL, name, strlen(name), inode, mode, 0);

    if (size > listing->room - listing->done) {
        listing->full = true;
        return;
    }
    dirent_write(listing->buffer + listing->done, name, strlen(name), inode, mode, (uint64_t)next);
    listing->done += size;
    listing->place = next;
}

static int64_t put_descriptors(struct listing *listing, uint32_t process)
{
    struct file_request request = {.operation = MSG_FILE_LIST, .first = listing->place - FIRST};
    int32_t *fds = heap_alloc(DESCRIPTORS * sizeof(*fds));
    struct file_answer answer;
    int64_t length;

    if (fds == NULL)
        return -ENOMEM;
    do {
        length = file_call_process(process, &request, NULL, 0, fds, DESCRIPTORS * sizeof(*fds), &answer);
        for (int64_t i = 0; i < length / (int64_t)sizeof(*fds) && !listing->full; i++) {
            char name[16];

            snprintf(name, sizeof(name), "%u", (uint32_t)fds[i]);
            put(listing, name, PROC_FD_INODE(process, fds[i]), FILE_LINK, fds[i] + FIRST + 1);
            request.first = fds[i] + 1;
        }
    } while (length == (int64_t)(DESCRIPTORS * sizeof(*fds)) && !listing->full);
    heap_free(fds, DESCRIPTORS * sizeof(*fds));
    return length < 0 ? length : 0;
}

int64_t live_entries(int64_t fd, const struct file_answer *answer, uint8_t *buffer, size_t room)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = (int32_t)fd};
    struct listing listing = {.buffer = buffer, .room = room};
    struct process_facts process;
    struct file_answer ignored;
    struct file_facts facts;
    int64_t error = file_call(thread_current()->group, &request, NULL, 0, &facts, sizeof(facts), &ignored);

    listing.place = files_seek(fd, 0, 1);
    if (error < 0 || listing.place < 0)
        return error < 0 ? error : listing.place;
    if (listing.place == 0)
        put(&listing, ".", facts.inode, FILE_DIRECTORY, 1);
    if (listing.place == 1)
        put(&listing, "..", 1, FILE_DIRECTORY, FIRST);
    error = listing.full ? 0 : put_descriptors(&listing, (uint32_t)answer->seen);
    if (error == -ESRCH && process_facts_of((uint32_t)answer->seen, &process) != 0)
        return -ENOENT;
    if (listing.done == 0)
        return listing.full ? -EINVAL : error == -ESRCH ? -ENOENT : error;
    files_seek(fd, listing.place, 0);
    return (int64_t)listing.done;
}
