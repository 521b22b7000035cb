/* All rooms of files. See the header. */
#include "kernel/files.h"

#include "kernel/calls/events/pidfd.h"
#include "kernel/exec/load.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/copy.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/event/epoll.h"
#include "kernel/file/event/eventfd.h"
#include "kernel/file/event/look.h"
#include "kernel/file/event/pidfd.h"
#include "kernel/file/event/signalfd.h"
#include "kernel/file/event/timerfd.h"
#include "kernel/file/root.h"
#include "kernel/file/serve.h"
#include "kernel/file/table.h"
#include "kernel/file/table_share.h"
#include "kernel/fs/inotify/inotify.h"
#include "kernel/fs/node/lock.h"
#include "kernel/fs/node/map.h"
#include "kernel/fs/node/nameless.h"
#include "kernel/fs/proc/proc.h"
#include "kernel/fs/remote/remote.h"
#include "kernel/fs/remote/serve.h"
#include "kernel/fs/sys/sys.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/ipc/call.h"
#include "kernel/ipc/pipe/pipe.h"
#include "kernel/ipc/socket/socket.h"
#include "kernel/ipc/sysv/ipc.h"
#include "kernel/tty/job.h"
#include "kernel/tty/serve.h"
#include "kernel/tty/terminal.h"
#include "tasks/process/group.h"

/* --- what processes ask --- */

static void nothing(void)
{
}

static int fork_files(struct group *parent, bool files, bool directory, void **out)
{
    struct file_table *table;
    int error = files || directory ? file_table_share(parent, files, directory, &table)
                                   : file_table_fork(parent, &table);

    *out = error == 0 ? table : NULL;
    return error;
}

static void begin_root(void *files, struct credentials *credentials)
{
    root_begin(files, credentials);
}

/* In a task: locks go, what the process asked to be undone is, and then its descriptors. */
static void release_files(void *files)
{
    struct file_table *table = files;

    file_table_unlock(table);
    if (table->undo != 0)
        ipc_undo(table->undo);
    file_table_leave(table);
}

static void limit_files(void *files, uint64_t count, uint64_t bytes)
{
    file_table_limit(files, count, bytes);
}

static int exec_files(struct group *group)
{
    int error = file_table_unshare(group);

    if (error == 0)
        file_table_exec(group->files);
    return error;
}

static void hook_processes(void)
{
    group_hooks.ending = nothing; /* waits for files end by what is due for the thread */
    group_hooks.release_files = release_files;
    group_hooks.exec_files = exec_files;
    group_hooks.limit_files = limit_files;
    group_hooks.fork_files = fork_files;
    group_hooks.begin_root = begin_root;
    group_hooks.open_process = pidfd_open_child;
    group_hooks.ended = pidfd_ended;
    group_hooks.first_begins = terminal_begin_session;
    group_hooks.session_ended = job_session_ended;
}

/* --- the rooms, from the bottom --- */

static void begin_kinds(void)
{
    node_map_init();
    node_lock_init();
    nameless_init();
    pipe_init();
    tree_files_init();
    inotify_init();
    terminal_init();
    tty_serve_init();
    socket_init();
    ipc_init();
    look_init();
    epoll_init();
    eventfd_init();
    pidfd_init();
    signalfd_init();
    timerfd_init();
}

void files_init(void)
{
    file_init();
    serve_init();
    copy_init();
    anonymous_init();
    begin_kinds();
    tree_serve_init();
    tree_remote_init();
    proc_init();
    sys_init();
    load_init();
    hook_processes();
}
