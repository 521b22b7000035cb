/* Kettle's own system calls. libc/kettle.h documents them. */
#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/fs/file.h"
#include "kernel/fs/initramfs.h"
#include "kernel/fs/path.h"
#include "kernel/lib/string.h"
#include "kernel/machine.h"
#include "mm/heap.h"
#include "mm/space.h"
#include "msg/channel.h"
#include "msg/exercise.h"
#include "tasks/exec.h"
#include "tasks/migrate.h"
#include "tasks/sched.h"

#define SPAWN_PATH_MAX 512u
#define SAMPLES_MAX 512u /* of an exercise, taken to the program at a time */
#define WORDS_MAX 512u

int64_t call_kettle_migrate(struct call *c)
{
    int result = migrate_thread((int32_t)c->a[0]);

    if (result == 1) {
        c->replaced = true;
        return 0;
    }
    return result;
}

int64_t call_kettle_kernel(struct call *c)
{
    (void)c;
    return instance.kernel;
}

int64_t call_kettle_kernels(struct call *c)
{
    (void)c;
    return instance.kernels;
}

int64_t call_kettle_node(struct call *c)
{
    return c->a[0] < instance.kernels ? (int64_t)instance.plan.kernels[c->a[0]].node : -EINVAL;
}

int64_t call_kettle_start(struct call *c)
{
    return c->a[0] < instance.kernels ? start_kernels(1ull << c->a[0]) : -EINVAL;
}

int64_t call_kettle_started(struct call *c)
{
    return c->a[0] < instance.kernels ? msg_peer_started((uint32_t)c->a[0]) : -EINVAL;
}

static int64_t run_exercise(const struct kettle_messages *asked, const struct exercise *exercise, uint64_t *samples)
{
    int64_t result = 0;
    uint32_t done = 0;

    while (done < asked->count && result == 0) {
        uint32_t most = samples != NULL ? SAMPLES_MAX : asked->count;
        uint32_t some = asked->count - done < most ? asked->count - done : most;

        result = exercise_run(exercise, done, some, samples);
        if (result == 0 && samples != NULL &&
            user_write((uint64_t)(asked->samples + done), samples, some * sizeof(samples[0])) != 0)
            result = -EFAULT;
        done += some;
    }
    return result == 0 && asked->operation == KETTLE_MESSAGES_ONE_WAY ? exercise_flush(exercise) : result;
}

int64_t call_kettle_messages(struct call *c)
{
    struct kettle_messages asked;
    struct exercise exercise;
    uint64_t *samples = NULL;
    int64_t result;

    if (user_read(&asked, c->a[0], sizeof(asked)) != 0)
        return -EFAULT;
    exercise = (struct exercise){.operation = asked.operation,
                                 .size = asked.size,
                                 .kernels = asked.kernels,
                                 .urgent = asked.urgent != 0,
                                 .seed = asked.seed,
                                 .stream = thread_current()->tid};
    if (asked.count == 0 || asked.count > INT32_MAX || asked.urgent > 1)
        return -EINVAL;
    result = exercise_check(&exercise);
    if (result != 0)
        return result;
    if (asked.samples != NULL) {
        samples = heap_alloc(SAMPLES_MAX * sizeof(samples[0]));
        if (samples == NULL)
            return -ENOMEM;
    }
    result = run_exercise(&asked, &exercise, samples);
    heap_free(samples, SAMPLES_MAX * sizeof(samples[0]));
    return result;
}

int64_t call_kettle_tally(struct call *c)
{
    struct kettle_tally tally;

    if (c->a[0] >= instance.kernels)
        return -EINVAL;
    exercise_tally((uint32_t)c->a[0], &tally);
    return user_write(c->a[1], &tally, sizeof(tally)) != 0 ? -EFAULT : 0;
}

int64_t call_kettle_control(struct call *c)
{
    char words[WORDS_MAX];
    int64_t length = user_read_string(words, c->a[0], sizeof(words));

    if (length < 0)
        return length == -ENAMETOOLONG ? -EINVAL : length;
    return control_everywhere(words);
}

/* Copies the strings that the null-terminated array at ADDRESS points to behind one another. */
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
        length = user_read_string(buffer + used, string, room - used);
        if (length < 0)
            return length == -ENAMETOOLONG ? -E2BIG : length;
        used += (size_t)length + 1;
        (*count)++;
        if (used == room)
            return -E2BIG;
    }
}

static int64_t spawn(const char *path, const struct exec_strings *strings)
{
    struct group *parent = thread_current()->group;
    struct file_table *files;
    struct cpio_entry entry;
    struct thread *thread;
    char name[SPAWN_PATH_MAX];
    bool folder;
    int64_t error = path_normalize(path, name, sizeof(name), &folder);

    if (error == 0)
        error = initramfs_find(name, &entry);
    if (error != 0)
        return error == -EISDIR ? -EACCES : error;
    if (folder)
        return -ENOTDIR;
    if ((entry.mode & 0111) == 0)
        return -EACCES;
    files = file_table_create(parent->files);
    if (files == NULL)
        return -ENOMEM;
    error = exec_create(entry.data, entry.size, path, strings, parent, files, &thread);
    if (error != 0) {
        file_table_free(files);
        return error;
    }
    error = thread->tid;
    sched_start(thread);
    return error;
}

int64_t call_kettle_spawn(struct call *c)
{
    struct exec_strings strings = {0};
    char *buffer;
    char path[SPAWN_PATH_MAX];
    int64_t size = user_read_string(path, c->a[0], sizeof(path));

    if (thread_current()->group->home != instance.kernel)
        return -ENOSYS; /* only where the caller's children are known and the files are */
    if (size < 0)
        return size;
    buffer = heap_alloc(EXEC_STRINGS_MAX);
    if (buffer == NULL)
        return -ENOMEM;
    strings.argv = buffer;
    size = read_strings(c->a[1], buffer, EXEC_STRINGS_MAX, &strings.argc);
    if (size >= 0) {
        strings.argv_size = (size_t)size;
        strings.envp = buffer + size;
        size = read_strings(c->a[2], buffer + size, EXEC_STRINGS_MAX - (size_t)size, &strings.envc);
    }
    if (size >= 0) {
        strings.envp_size = (size_t)size;
        size = spawn(path, &strings);
    }
    heap_free(buffer, EXEC_STRINGS_MAX);
    return size;
}
