/* System calls that run programs: execve(2), and kettle_spawn, which another kernel may carry out. */
#include "kernel/calls/process/exec.h"
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/path.h"
#include "kernel/exec/load.h"
#include "kernel/exec/script.h"
#include "kernel/file/copy.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/path.h"
#include "kernel/file/permission.h"
#include "kernel/file/root.h"
#include "kernel/file/table.h"
#include "kernel/fs/name/name.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "msg/channel.h"
#include "msg/slice.h"
#include "tasks/balance/balance.h"
#include "tasks/exit/exit.h"
#include "tasks/migrate/migrate.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/program/spawn.h"
#include "tasks/remote/operation.h"
#include "tasks/sched/cpu_mask.h"
#include "tasks/sched/due.h"

#define KETTLE_ANY (-1)
#define PATH_SIZE 4096u

#define STRING_MAX 131072u /* bytes of one argument, with its NUL, as in Linux */

#define FIRST_STRINGS 4096u /* bytes of the first buffer for strings; it grows by factors of four */

/* The arguments of exec: the path, and the argument and environment strings in one buffer. */
struct given {
    char path[PATH_SIZE];
    char *strings;
    uint32_t room; /* bytes at STRINGS */
    struct exec_strings list;
    struct credentials user; /* of the program */
};

/* Copies the array of strings at user address ADDRESS to BUFFER, one after another. Returns the bytes used.
 * -ENAMETOOLONG: they need more than ROOM; -E2BIG: a string is too long. */
static int64_t read_strings(uint64_t address, char *buffer, size_t room, uint32_t *count)
{
    size_t used = 0;

    *count = 0;
    for (;; address += sizeof(uint64_t)) {
        uint64_t string = 0;
        int64_t length;

        if (address != 0 && user_read(&string, address, sizeof(string)) != 0)
            return -EFAULT;
        if (string == 0)
            return (int64_t)used;
        length = user_read_string(buffer + used, string, room - used < STRING_MAX ? room - used : STRING_MAX);
        if (length == -ENAMETOOLONG)
            return room - used < STRING_MAX ? -ENAMETOOLONG : -E2BIG;
        if (length < 0)
            return length;
        used += (size_t)length + 1;
        (*count)++;
        if (slice_check())
            return -EINTR; /* killed */
        if (used == room)
            return -ENAMETOOLONG;
    }
}

/* Reads both arrays of strings. -ENAMETOOLONG: the buffer is too small. */
static int64_t read_both(struct given *given, uint64_t argv, uint64_t envp)
{
    int64_t size;

    given->list.argv = given->strings;
    size = read_strings(argv, given->strings, given->room, &given->list.argc);
    if (size < 0)
        return size;
    given->list.argv_size = (size_t)size;
    if (given->list.argc == 0) { /* as in Linux, an empty argv becomes one empty string */
        given->strings[0] = '\0';
        given->list.argc = 1;
        given->list.argv_size = 1;
    }
    given->list.envp = given->strings + given->list.argv_size;
    size = read_strings(envp, given->strings + given->list.argv_size, given->room - given->list.argv_size,
                        &given->list.envc);
    if (size < 0)
        return size;
    given->list.envp_size = (size_t)size;
    return 0;
}

static int64_t read_given(struct given *given, uint64_t path, const char *text, uint64_t argv, uint64_t envp)
{
    int64_t error = 0;

    if (text != NULL)
        memcpy(given->path, text, strlen(text) + 1);
    else
        error = user_read_string(given->path, path, sizeof(given->path));

    for (given->room = FIRST_STRINGS; error >= 0; given->room *= 4) {
        given->strings = heap_alloc_unset(given->room);
        error = given->strings != NULL ? read_both(given, argv, envp) : -ENOMEM;
        if (error == 0)
            return 0;
        heap_free(given->strings, given->room);
        given->strings = NULL;
        if (error == -ENAMETOOLONG)
            error = given->room >= EXEC_STRINGS_MAX ? -E2BIG : 0;
    }
    return error;
}

static void free_given(struct given *given)
{
    if (given == NULL)
        return;
    heap_free(given->strings, given->room);
    heap_free(given, sizeof(*given));
}

/* Computes the credentials NEW of the program LOADED when OLD executes it: a set-user-ID or set-group-ID file sets its
 * owner or group, unless FLAGS have CONTEXT_NO_NEW_PRIVILEGES. */
static void become(const struct credentials *old, uint32_t flags, const struct loaded *loaded, struct credentials *new,
                   struct exec_strings *strings)
{
    uint32_t mode = (flags & CONTEXT_NO_NEW_PRIVILEGES) != 0 ? 0 : loaded->mode;

    *new = *old;
    if ((mode & MODE_SET_USER) != 0)
        new->euid = loaded->uid;
    if ((mode & (MODE_SET_GROUP | MODE_GROUP_EXECUTE)) == (MODE_SET_GROUP | MODE_GROUP_EXECUTE))
        new->egid = loaded->gid;
    new->suid = new->fsuid = new->euid;
    new->sgid = new->fsgid = new->egid;
    strings->user = new;
    strings->secure = new->euid != old->uid || new->egid != old->gid;
}

/* Returns the error for LOADED, which cannot be run, perhaps because it needs an interpreter (a dynamic linker): as in
 * Linux, the error of opening the interpreter; -ENOEXEC if it exists or none is needed. */
static int64_t without_interpreter(const struct loaded *loaded)
{
    char *path = heap_alloc(PATH_MAX);
    struct loaded interpreter = {.held = NULL};
    int64_t error = path != NULL ? elf_interpreter(&loaded->file, path, PATH_MAX) : -ENOMEM;

    if (error == 0)
        error = file_load(thread_current()->group, &(struct name){NAME_WORKING_DIRECTORY, path}, &interpreter);
    else if (error == -ENOENT)
        error = -ENOEXEC;
    file_unload(&interpreter);
    heap_free(path, PATH_MAX);
    return error != 0 ? error : -ENOEXEC;
}

static int64_t exec_loaded(const struct given *given, struct loaded *loaded, struct exec_strings *strings)
{
    struct group *group = thread_current()->group;
    struct spawn_program program = {.file = &loaded->file, .path = given->path, .strings = strings};
    struct file *executable;
    int64_t error;

    error = program_check(&loaded->file, given->path, strings);
    if (error == -ENOEXEC)
        return without_interpreter(loaded);
    if (error != 0)
        return error;
    if (group->home != instance.kernel) { /* exec runs at home: the thread moves there and the call begins again */
        spin_lock(&group->lock);
        thread_order_move_locked(thread_current(), group->home);
        spin_unlock(&group->lock);
        return -ERESTARTNOINTR;
    }
    error = file_load_keep(loaded, &executable);
    if (error != 0)
        return error;
    error = spawn_exec(&program);
    if (error == 0) {
        file_table_set_program(group->files, loaded->path); /* without memory, /proc keeps the old path */
        file_table_set_executable(group->files, executable);
    } else if (executable != NULL) {
        file_close(executable);
    }
    return error == -EAGAIN ? -ERESTARTNOINTR : error;
}

/* Runs the executable NAME with what is GIVEN. */
static int64_t exec_given(struct given *given, const struct name *name)
{
    struct loaded loaded = {.held = NULL};
    struct script script = {.memory = NULL};
    int64_t error = script_load(thread_current()->group, name, &given->list, &loaded, &script);

    if (error == 0) {
        become(&thread_current()->context.credentials, thread_current()->context.flags, &loaded, &given->user,
               &script.strings);
        error = exec_loaded(given, &loaded, &script.strings);
    }
    script_free(&script);
    file_unload(&loaded);
    return error;
}

/* Runs the executable whose path, relative to DIRECTORY, is at user address PATH, or is TEXT if that is not NULL. */
static int64_t exec_at(struct call *c, int64_t directory, uint64_t path, const char *text, uint64_t argv, uint64_t envp)
{
    struct given *given = heap_alloc(sizeof(*given));
    struct name name = {.directory = directory};
    int64_t error = -ENOMEM;
    bool waited;

    if (given != NULL)
        error = read_given(given, path, text, argv, envp);
    if (error == 0) {
        name.path = given->path;
        error = exec_given(given, &name);
    }
    waited = error == -EINPROGRESS;
    while (error == -EINPROGRESS) { /* other processes use the memory: nothing is held while this waits for them */
        exit_others_wait();
        error = exec_given(given, &name);
    }
    if (waited && error != 0)
        exit_others_fail();
    free_given(given);
    c->replaced = error == 0;
    return error;
}

int64_t call_execve(struct call *c)
{
    return exec_at(c, NAME_WORKING_DIRECTORY, c->a[0], NULL, c->a[1], c->a[2]);
}

int64_t call_execveat(struct call *c)
{
    uint32_t flags = (uint32_t)c->a[4];
    int64_t result;
    char path[32];

    if ((flags & ~AT_EMPTY_PATH) != 0)
        return -EINVAL;
    if ((flags & AT_EMPTY_PATH) == 0 || !files_empty(c->a[1]) || (int32_t)c->a[0] < 0)
        return exec_at(c, (int32_t)c->a[0], c->a[1], NULL, c->a[2], c->a[3]);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", (int32_t)c->a[0]);
    result = exec_at(c, NAME_TREE, 0, path, c->a[2], c->a[3]);
    if (result == -ENOENT && files_get_flags((int32_t)c->a[0]) == -EBADF)
        return -EBADF;
    return result;
}

/* SPAWN. The descriptors, the path and the strings follow, each string with its NUL. */
struct msg_spawn {
    uint32_t parent;
    uint32_t descriptors; /* how many follow; ALL_DESCRIPTORS: none, the child gets all of the parent */
    uint32_t path_size, argv_size, envp_size;
    uint32_t argc, envc;
    uint32_t pad;
    struct spawn_attributes attributes;
};

struct msg_spawned {
    int64_t id;
};

#define ALL_DESCRIPTORS UINT32_MAX
#define DESCRIPTORS_MAX 1024u
#define LISTED_PART 4096u /* bytes of strings between two looks whether a slice is over */

static bool is_list(const char *strings, uint32_t size, uint32_t count)
{
    for (uint32_t i = 0; i < size; i++) {
        count -= strings[i] == '\0' ? 1 : 0;
        if (i % LISTED_PART == 0)
            slice_check();
    }
    return count == 0 && (size == 0 || strings[size - 1] == '\0');
}

static bool spawn_valid(const struct msg_spawn *message, uint32_t length)
{
    uint64_t listed = message->descriptors == ALL_DESCRIPTORS ? 0 : message->descriptors;
    const char *path = (const char *)(message + 1) + listed * sizeof(int32_t);

    return listed <= DESCRIPTORS_MAX &&
           length == sizeof(*message) + listed * sizeof(int32_t) + message->path_size + message->argv_size +
                         (uint64_t)message->envp_size &&
           message->path_size > 0 && is_list(path, message->path_size, 1) &&
           is_list(path + message->path_size, message->argv_size, message->argc) &&
           is_list(path + message->path_size + message->argv_size, message->envp_size, message->envc);
}

/* Starts the process on this kernel. The path is absolute. */
static int64_t spawn_here(const struct msg_spawn *message)
{
    bool all = message->descriptors == ALL_DESCRIPTORS;
    uint32_t listed = all ? 0 : message->descriptors;
    const int32_t *descriptors = (const int32_t *)(message + 1);
    const char *path = (const char *)(descriptors + listed);
    struct exec_strings strings = {.argv = path + message->path_size,
                                   .argc = message->argc,
                                   .argv_size = message->argv_size,
                                   .envp = path + message->path_size + message->argv_size,
                                   .envc = message->envc,
                                   .envp_size = message->envp_size};
    struct spawn_program program = {.path = path};
    struct file_table *files = NULL;
    struct file *executable;
    struct loaded loaded = {.held = NULL};
    struct script script = {.memory = NULL};
    struct thread_context *context = &thread_current()->context;
    struct credentials own = context->credentials, credentials;
    int64_t result;

    context->credentials = message->attributes.credentials; /* this worker opens the program as the parent */
    result = script_load(NULL, &(struct name){NAME_WORKING_DIRECTORY, path}, &strings, &loaded, &script);

    program.file = &loaded.file;
    program.strings = &script.strings;
    context->credentials = own;
    become(&message->attributes.credentials, message->attributes.flags, &loaded, &credentials, &script.strings);
    if (result == 0)
        result = file_table_pick_at(process_home(message->parent), message->parent, all ? NULL : descriptors, listed,
                                    &files);
    if (result == 0) {
        root_begin(files, &credentials);
        if (all)
            file_table_exec(files);
        result = file_table_set_program(files, loaded.path);
        if (result == 0)
            result = file_load_keep(&loaded, &executable);
        if (result == 0)
            file_table_set_executable(files, executable);
    }
    if (result == 0)
        result = spawn_process(message->parent, &program, files, &message->attributes);
    if (result < 0 && files != NULL)
        file_table_free(files);
    script_free(&script);
    file_unload(&loaded);
    return result;
}

static int run_spawn(const struct remote_request *request, void *result)
{
    int64_t id = spawn_valid(request->data, request->length) ? spawn_here(request->data) : -EPROTO;

    *(struct msg_spawned *)result = (struct msg_spawned){id};
    return id < 0 ? (int)id : (int)sizeof(struct msg_spawned);
}

void exec_init(void)
{
    REMOTE_SERVE_TASK(SPAWN, WORK_PROGRAMS, run_spawn, NULL, struct msg_spawn, struct msg_spawned);
}

/* Makes PATH absolute: puts the caller's working directory before it if it is relative. Returns the size with
 * the NUL. */
static int64_t absolute(const char *path, char out[PATH_SIZE])
{
    size_t used = 0;
    int64_t length = path[0] == '\0' ? -ENOENT : root_look(); /* the credentials that are sent have the root */

    if (length != 0)
        return length;
    if (path[0] != '/') {
        length = root_to_working_directory(out, PATH_SIZE - 1);

        if (length < 0 && length != -EBADF) /* -EBADF: no working directory was set, so it is the root */
            return length;
        used = length < 0 ? 0 : (size_t)length;
        out[used++] = '/';
    }
    if (used + strlen(path) + 1 > PATH_SIZE)
        return -ENAMETOOLONG;
    memcpy(out + used, path, strlen(path) + 1);
    return (int64_t)(used + strlen(path) + 1);
}

/* Sends SPAWN with GIVEN and the COUNT descriptors at user address DESCRIPTORS (0: all) to KERNEL. Returns the id of
 * the new process. */
static int64_t spawn_on(uint32_t kernel, struct given *given, uint64_t descriptors, uint32_t count)
{
    const struct remote_how how = {.why = "start of a process"};
    const struct thread *self = thread_current();
    uint32_t listed = descriptors == 0 ? 0 : count;
    uint32_t size = (uint32_t)(sizeof(struct msg_spawn) + listed * 4 + PATH_SIZE + given->list.argv_size +
                               given->list.envp_size);
    struct msg_spawn *message;
    struct msg_spawned spawned;
    uint8_t *at;
    int64_t result;
    int length;

    if (size > MSG_MAX && kernel != instance.kernel)
        return -E2BIG;
    message = heap_alloc_unset(size);
    if (message == NULL)
        return -ENOMEM;
    *message = (struct msg_spawn){.parent = self->group->id,
                                  .descriptors = descriptors == 0 ? ALL_DESCRIPTORS : count,
                                  .argv_size = (uint32_t)given->list.argv_size,
                                  .envp_size = (uint32_t)given->list.envp_size,
                                  .argc = given->list.argc,
                                  .envc = given->list.envc};
    cpu_mask_all(message->attributes.affinity);
    message->attributes.signal_mask = self->context.signal_mask;
    message->attributes.nice = self->context.nice;
    message->attributes.flags = self->context.flags & CONTEXT_NO_NEW_PRIVILEGES;
    at = (uint8_t *)(message + 1) + listed * 4;
    result = listed > 0 && user_read(message + 1, descriptors, listed * 4ull) != 0 ? -EFAULT
                                                                                   : absolute(given->path, (char *)at);
    if (result > 0) {
        message->attributes.credentials = self->context.credentials; /* with the root that the path refers to */
        message->path_size = (uint32_t)result;
        at += result;
        /* both arrays are contiguous */
        exec_strings_copy((char *)at, given->list.argv, given->list.argv_size + given->list.envp_size);
        at += given->list.argv_size + given->list.envp_size;
        length = remote_call(kernel, MSG_SPAWN, message, (uint32_t)(at - (uint8_t *)message), &spawned, sizeof(spawned),
                             &how);
        result = length < 0 ? length : spawned.id;
    }
    heap_free(message, size);
    return result;
}

int64_t call_kettle_spawn(struct call *c)
{
    const struct thread *self = thread_current();
    int32_t kernel = (int32_t)c->a[0];
    uint32_t count = (uint32_t)c->a[5];
    struct given *given;
    int64_t result = -ENOMEM;

    if (kernel == KETTLE_ANY)
        kernel = (int32_t)balance_place(self, self->context.affinity, BALANCE_EXEC, NULL);
    if (kernel < 0 || kernel >= (int32_t)instance.kernels || (c->a[4] != 0 && count > DESCRIPTORS_MAX))
        return -EINVAL;
    if (!msg_peer_started((uint32_t)kernel) && kernel != (int32_t)instance.kernel)
        return -EAGAIN;
    given = heap_alloc(sizeof(*given));
    if (given != NULL)
        result = read_given(given, c->a[1], NULL, c->a[2], c->a[3]);
    if (result == 0)
        result = spawn_on((uint32_t)kernel, given, c->a[4], count);
    free_given(given);
    return result;
}
