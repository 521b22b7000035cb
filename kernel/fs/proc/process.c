/* /proc/PID. See the header; kernel/fs/proc/process_text.c has the text of the files. */
#include "kernel/fs/proc/process.h"

#include "kernel/abi/errno.h"
#include "kernel/file/path.h"
#include "kernel/file/remote.h"
#include "kernel/fs/device/device.h"
#include "kernel/fs/proc/descriptor.h"
#include "kernel/fs/proc/live.h"
#include "kernel/fs/proc/process_text.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/account/facts.h"
#include "tasks/process/group.h"
#include "tasks/process/permission.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define DESCRIPTORS 64u                                   /* per request */
#define INODE(id, place) ((uint64_t)(id) << 32 | (place)) /* inode number of an entry, unique in its listing */

/* --- numbers as names --- */

/* Parses a decimal number without leading zeros. *GOOD: NAME is one; ZERO: 0 is allowed. */
static uint32_t number_of(const char *name, size_t length, bool zero, bool *good)
{
    uint64_t value = 0;

    *good = length > 0 && length <= 10 && (name[0] != '0' || (zero && length == 1));
    for (size_t i = 0; i < length && *good; i++) {
        *good = name[i] >= '0' && name[i] <= '9';
        value = value * 10 + (uint64_t)(name[i] - '0');
    }
    *good = *good && value <= INT32_MAX;
    return *good ? (uint32_t)value : 0;
}

static void add_number(struct dirents *to, uint32_t number, uint64_t inode, uint32_t mode)
{
    char name[16];
    int length = snprintf(name, sizeof(name), "%u", number);

    dirents_append(to, name, (size_t)length, inode, mode); /* other names are no numbers */
    slice_check();
}

/* --- links --- */

static int64_t give(const char *text, char *out, size_t size)
{
    size_t length = strnlen(text, size + 1);

    if (length > size)
        return -ENAMETOOLONG;
    memcpy(out, text, length);
    return (int64_t)length;
}

/* The process that names a file; 0, which none has: a kernel task does so for a process that is still being made. */
static uint32_t own_process(void)
{
    const struct group *group = thread_current()->group;

    return group != NULL ? group->id : 0;
}

void process_enter_self(struct proc_at *at)
{
    at->keys[0] = own_process();
    at->keys[1] = 0;
}

void process_enter_thread(struct proc_at *at)
{
    process_enter_self(at);
    at->keys[1] = thread_current()->tid;
}

int64_t process_link_self(const struct proc_at *at, char *out, size_t size)
{
    char text[16];

    (void)at;
    if (own_process() == 0)
        return -ENOENT;
    snprintf(text, sizeof(text), "%u", own_process());
    return give(text, out, size);
}

int64_t process_link_thread(const struct proc_at *at, char *out, size_t size)
{
    char text[40];

    (void)at;
    if (own_process() == 0)
        return -ENOENT;
    snprintf(text, sizeof(text), "%u/task/%u", own_process(), thread_current()->tid);
    return give(text, out, size);
}

static int64_t link_program(const struct proc_at *at, char *out, size_t size)
{
    struct file_request request = {.operation = MSG_FILE_GET_PROGRAM};
    struct file_answer answer;
    char *text = heap_alloc(PATH_MAX + 1);
    int64_t length;

    if (text == NULL)
        return -ENOMEM;
    length = file_call_process((uint32_t)at->keys[0], &request, NULL, 0, text, PATH_MAX, &answer);
    if (length == 0 || length == -ESRCH)
        length = -ENOENT;
    if (length > 0)
        length = give(text, out, size);
    heap_free(text, PATH_MAX + 1);
    return length;
}

static int64_t link_directory(const struct proc_at *at, char *out, size_t size)
{
    struct file_request request = {.operation = MSG_FILE_PATH, .fd = FILE_WORKING_DIRECTORY};
    struct file_answer answer;
    int64_t length = file_call_process((uint32_t)at->keys[0], &request, NULL, 0, out, size < PATH_MAX ? size : PATH_MAX,
                                       &answer);

    return length == -ESRCH || length == -EBADF ? -ENOENT : length;
}

/* --- fd: at->keys[1] is the descriptor --- */

/* The descriptor's file's name in the tree. -ENOENT: it has none. */
static int64_t link_name(const struct proc_at *at, char *out, size_t size)
{
    struct file_request request = {.operation = MSG_FILE_PATH, .fd = (int32_t)at->keys[1]};
    struct file_answer answer;
    int64_t length = file_call_process((uint32_t)at->keys[0], &request, NULL, 0, out, size < PATH_MAX ? size : PATH_MAX,
                                       &answer);

    return length >= 0 || length == -ENAMETOOLONG ? length : -ENOENT;
}

static int64_t link_descriptor(const struct proc_at *at, char *out, size_t size)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = (int32_t)at->keys[1]};
    struct file_facts facts;
    struct file_answer answer;
    char text[48];
    int64_t length;

    if (credentials_may_reach((uint32_t)at->keys[0], true) == -EPERM)
        return -EACCES;
    length = file_call_process((uint32_t)at->keys[0], &request, NULL, 0, &facts, sizeof(facts), &answer);
    if (length < 0)
        return length == -EBADF || length == -ESRCH ? -ENOENT : length;
    switch (facts.mode & FILE_TYPE_MASK) {
    case FILE_FIFO:
        if (facts.device == TREE_DEVICE) /* a FIFO with a name */
            return link_name(at, out, size);
        snprintf(text, sizeof(text), "pipe:[%lu]", (unsigned long)facts.inode);
        break;
    case FILE_SOCKET:
        snprintf(text, sizeof(text), "socket:[%lu]", (unsigned long)facts.inode);
        break;
    case FILE_CHARACTER:
        device_path(facts.number, text, sizeof(text));
        break;
    default:
        length = link_name(at, out, size);
        if (length != -ENOENT)
            return length;
        /* it never had a name, or has lost it */
        snprintf(text, sizeof(text), "file:[%lu:%lu]", (unsigned long)facts.device, (unsigned long)facts.inode);
        break;
    }
    return give(text, out, size);
}

static const struct proc_row descriptor_row = {.name = "", .link = link_descriptor};
static const struct proc_directory descriptor_file = {.rows = &descriptor_row, .count = 1};

static bool is_descriptor(struct proc_at *at, const char *name, size_t length)
{
    struct file_request request = {.operation = MSG_FILE_GET_DESCRIPTOR};
    struct file_answer answer;
    bool good;

    at->keys[1] = number_of(name, length, true, &good);
    request.fd = (int32_t)at->keys[1];
    return good && file_call_process((uint32_t)at->keys[0], &request, NULL, 0, NULL, 0, &answer) >= 0;
}

static const struct proc_directory *find_descriptor(struct proc_at *at, const char *name, size_t length)
{
    return is_descriptor(at, name, length) ? &descriptor_file : NULL;
}

static const struct proc_directory *find_info(struct proc_at *at, const char *name, size_t length)
{
    return is_descriptor(at, name, length) ? &descriptor_info : NULL;
}

static void list_info(const struct proc_at *at, struct dirents *to)
{
    struct file_request request = {.operation = MSG_FILE_LIST};
    struct file_answer answer;
    int32_t fds[DESCRIPTORS];
    int64_t size;

    if (credentials_may_reach((uint32_t)at->keys[0], true) == -EPERM)
        return;
    do {
        size = file_call_process((uint32_t)at->keys[0], &request, NULL, 0, fds, sizeof(fds), &answer);
        for (int64_t i = 0; i < size / (int64_t)sizeof(fds[0]); i++) {
            add_number(to, (uint32_t)fds[i], INODE(at->keys[0], fds[i]), FILE_REGULAR);
            request.first = fds[i] + 1;
        }
    } while (size == sizeof(fds));
}

static int64_t open_descriptors(const struct proc_at *at, const char *name, const struct file_facts *facts,
                                uint32_t flags, struct file **out)
{
    return proc_live_descriptors((uint32_t)at->keys[0], name, facts, flags, out);
}

static int64_t open_memory(const struct proc_at *at, const struct file_facts *facts, uint32_t flags, struct file **out)
{
    return proc_live_memory((uint32_t)at->keys[0], facts, flags, out);
}

static const struct proc_directory descriptors = {.find = find_descriptor, .open = open_descriptors};
static const struct proc_directory descriptor_infos = {.find = find_info, .list = list_info};

/* --- threads --- */

static const struct proc_row thread_rows[] = {
    {.name = "comm", .write = proc_write_name},         {.name = "fd", .directory = &descriptors},
    {.name = "fdinfo", .directory = &descriptor_infos}, {.name = "io", .write = proc_write_io, .mode = 0400},
    {.name = "stat", .write = proc_write_stat},         {.name = "status", .write = proc_write_status},
};
const struct proc_directory thread_directory = {.rows = thread_rows, .count = COUNT(thread_rows)};

/* The first thread of a process exists as long as the process does; it is a zombie after it has ended. */
static const struct proc_directory *find_thread(struct proc_at *at, const char *name, size_t length)
{
    struct process_facts process;
    struct thread_facts thread;
    bool good;
    uint32_t tid = number_of(name, length, false, &good);

    if (!good || process_facts_of((uint32_t)at->keys[0], &process) != 0)
        return NULL;
    if (tid != process.id && (process.condition == PROCESS_ENDED || !survey_thread(&process, tid, &thread)))
        return NULL;
    at->keys[1] = tid;
    return &thread_directory;
}

static void list_threads(const struct proc_at *at, struct dirents *to)
{
    uint32_t id = (uint32_t)at->keys[0];
    int error;
    struct process_survey *survey = survey_process(id, true, &error);

    if (survey == NULL) {
        to->failed = error != -ESRCH;
        return;
    }
    add_number(to, id, INODE(id, id), FILE_DIRECTORY);
    for (uint32_t i = 0; i < survey->count; i++) {
        if (survey->threads[i].tid != id)
            add_number(to, survey->threads[i].tid, INODE(id, survey->threads[i].tid), FILE_DIRECTORY);
    }
    survey_free(survey);
}

static const struct proc_directory threads = {.find = find_thread, .list = list_threads};

/* --- processes --- */

static const struct proc_row process_rows[] = {
    {.name = "cmdline", .write = proc_write_command},
    {.name = "comm", .write = proc_write_name},
    {.name = "cwd", .link = link_directory},
    {.name = "environ", .write = proc_write_environment},
    {.name = "exe", .link = link_program},
    {.name = "fd", .directory = &descriptors},
    {.name = "fdinfo", .directory = &descriptor_infos},
    {.name = "io", .write = proc_write_io, .mode = 0400},
    {.name = "kettle", .write = proc_write_kettle},
    {.name = "limits", .write = proc_write_limits},
    {.name = "maps", .write = proc_write_maps},
    {.name = "mem", .open = open_memory, .mode = 0600},
    {.name = "mountinfo", .write = proc_write_mounts},
    {.name = "numa_maps", .write = proc_write_numa_maps},
    {.name = "numa_stat", .write = proc_write_numa},
    {.name = "smaps", .write = proc_write_smaps},
    {.name = "stat", .write = proc_write_stat},
    {.name = "statm", .write = proc_write_memory},
    {.name = "status", .write = proc_write_status},
    {.name = "task", .directory = &threads},
};
const struct proc_directory process_directory = {.rows = process_rows, .count = COUNT(process_rows)};

/* In Linux, the id of a thread can be opened here, too, though it is not listed; Kettle refuses it. */
const struct proc_directory *process_find(struct proc_at *at, const char *name, size_t length)
{
    struct process_facts process;
    bool good;
    uint32_t id = number_of(name, length, false, &good);

    if (!good || process_facts_of(id, &process) != 0)
        return NULL;
    at->keys[0] = id;
    return &process_directory;
}

void process_list(const struct proc_at *at, struct dirents *to)
{
    struct id_list list;

    (void)at;
    add_number(to, PROCESS_INIT, INODE(PROCESS_INIT, 0), FILE_DIRECTORY);
    if (process_ids(&list) != 0) {
        to->failed = true;
        return;
    }
    for (uint32_t i = 0; i < list.count; i++)
        add_number(to, list.ids[i], INODE(list.ids[i], 0), FILE_DIRECTORY);
    id_list_free(&list);
}
