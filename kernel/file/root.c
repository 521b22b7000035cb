/* Roots. See the header. */
#include "kernel/file/root.h"

#include "kernel/abi/errno.h"
#include "kernel/abi/limits.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/remote.h"
#include "kernel/file/table.h"
#include "kernel/instance/instance.h"
#include "msg/channel.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/thread/thread.h"

#define KERNEL_BITS 8u
#define UNSEEN UINT64_MAX
#define RETRIES_MAX 1000u /* when the root is closed before it is used */

_Static_assert(KERNELS_MAX <= 1u << KERNEL_BITS, "a kernel fits");

/* HOME's count of changed roots, with HOME's number; or 0 if no process at home there has ever changed its root. */
static uint64_t stamp_of(uint32_t home)
{
    const volatile uint64_t *board = msg_board_of(home);
    uint64_t count = board != NULL ? __atomic_load_n(&board[MSG_BOARD_ROOTS], __ATOMIC_ACQUIRE) : 0;

    return count != 0 ? count << KERNEL_BITS | home : 0;
}

void root_changed(void)
{
    __atomic_fetch_add(&msg_board_own()[MSG_BOARD_ROOTS], 1, __ATOMIC_RELEASE);
}

void root_begin(struct file_table *table, struct credentials *credentials)
{
    struct file *file;

    /* read before the root, which a process that shares it may change meanwhile */
    credentials->root_seen = stamp_of(instance.kernel);
    file = table_find(table, FILE_ROOT);
    credentials->root = file != NULL ? file->id : 0;
    if (file != NULL)
        file_unpin(file);
}

int64_t root_look(void)
{
    struct thread *self = thread_current();
    struct credentials *own = &self->context.credentials;
    struct file_request request = {.operation = MSG_FILE_LOCATE};
    struct file_place place = {.id = 0};
    struct file_answer answer;
    int32_t fd = FILE_ROOT;
    uint64_t stamp;
    int64_t result;

    if (self->group == NULL)
        return 0;
    stamp = stamp_of(process_home(self->group->id));
    if (__builtin_expect(stamp == own->root_seen, 1))
        return 0;
    result = file_call(self->group, &request, &fd, sizeof(fd), &place, sizeof(place), &answer);
    if (result < 0)
        return result;
    own->root = place.id;
    own->root_seen = stamp;
    return 0;
}

int64_t root_to_working_directory(char *text, size_t room)
{
    struct file_request request = {.operation = MSG_FILE_PATH, .fd = FILE_WORKING_DIRECTORY};
    struct file_answer answer;
    int64_t result = -ESRCH;

    for (uint32_t turn = 0; turn < RETRIES_MAX && result == -ESRCH; turn++) {
        result = root_look();
        request.root = thread_current()->context.credentials.root;
        if (result == 0)
            result = file_call(thread_current()->group, &request, NULL, 0, text, room, &answer);
    }
    return result == -ESRCH ? -ENOENT : result;
}

void root_forget(struct group *group)
{
    list_for_each(node, &group->threads) {
        struct credentials *credentials = &container_of(node, struct thread, group_node)->context.credentials;

        if (credentials->root_seen != 0)
            credentials->root_seen = UNSEEN;
    }
}
