/* Files by name. See the header. */
#include "kernel/fs/name.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/fs/device.h"
#include "kernel/fs/initramfs.h"
#include "kernel/fs/path.h"
#include "kernel/fs/proc.h"
#include "kernel/fs/remote.h"
#include "kernel/fs/terminal.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"
#include "msg/call.h"

static const struct file_facts device_folder = {.inode = 1, .device = 4, .mode = FILE_DIRECTORY | 0755};

/* The rest of NAME below FOLDER, "" for the folder itself; NULL when it is not there. */
static const char *below(const char *name, const char *folder)
{
    size_t length = strlen(folder);

    if (strncmp(name, folder, length) != 0 || (name[length] != '\0' && name[length] != '/'))
        return NULL;
    return name[length] == '/' ? name + length + 1 : name + length;
}

/* What FLAGS ask for that a file, which exists, does not give. */
static int64_t check_flags(uint32_t mode, bool writable, uint32_t flags)
{
    bool writing = (flags & OPEN_ACCESS) != 0 || (flags & OPEN_TRUNCATE) != 0;

    if ((flags & OPEN_PATH) != 0)
        return (flags & OPEN_DIRECTORY) != 0 && (mode & FILE_TYPE_MASK) != FILE_DIRECTORY ? -ENOTDIR : 0;
    if ((flags & OPEN_CREATE) != 0 && (flags & OPEN_EXCLUSIVE) != 0)
        return -EEXIST;
    if ((mode & FILE_TYPE_MASK) == FILE_DIRECTORY)
        return writing || (flags & OPEN_CREATE) != 0 ? -EISDIR : 0;
    if ((flags & OPEN_DIRECTORY) != 0)
        return -ENOTDIR;
    return writing && !writable ? -EROFS : 0;
}

/* --- kernel 0: the terminal and the initramfs; nothing waits --- */

static int64_t stat_here(const char *name, struct file_facts *facts)
{
    const char *device = below(name, "dev");

    if (device != NULL && device_is_terminal(device)) {
        terminal_facts(facts);
        return 0;
    }
    return initramfs_stat(name, facts);
}

static int64_t open_directory(const char *name, const struct file_facts *facts, uint32_t flags, struct file **out)
{
    struct directory directory = {.bytes = NULL};

    directory_add(&directory, ".", 1, facts->inode, FILE_DIRECTORY);
    directory_add(&directory, "..", 2, facts->inode, FILE_DIRECTORY);
    initramfs_list(name, &directory);
    if (*name == '\0') {
        directory_add(&directory, "dev", 3, 1, FILE_DIRECTORY);
        directory_add(&directory, "proc", 4, 1, FILE_DIRECTORY);
        directory_add(&directory, "sys", 3, 1, FILE_DIRECTORY);
    }
    return directory_open(&directory, name, facts, flags, out);
}

static int64_t open_here(const char *name, uint32_t flags, struct file **out)
{
    const char *device = below(name, "dev");
    struct file_facts facts;
    int64_t error = stat_here(name, &facts);

    if (error == 0)
        error = check_flags(facts.mode, device != NULL, flags);
    if (error != 0)
        return error;
    if (device != NULL && device_is_terminal(device))
        *out = terminal_open(flags);
    else if ((facts.mode & FILE_TYPE_MASK) == FILE_DIRECTORY)
        return open_directory(name, &facts, flags, out);
    else
        return initramfs_open(name, flags, out);
    return *out == NULL ? -ENOMEM : 0;
}

struct fetched {
    struct msg_kept kept;
    size_t size; /* of this and the data */
    struct msg_file_named answer;
    uint8_t data[];
};

_Static_assert(offsetof(struct fetched, data) == offsetof(struct fetched, answer) + sizeof(struct msg_file_named),
               "data follows the answer");

static void fetched_done(struct msg_kept *kept)
{
    struct fetched *f = container_of(kept, struct fetched, kept);

    heap_free(f, f->size);
}

static void answer_fetch(const struct msg *m, const char *name, uint64_t offset)
{
    struct file_facts facts;
    struct cpio_entry entry = {.size = 0};
    struct fetched *f;
    size_t size = 0;
    int64_t error = initramfs_stat(name, &facts);

    if (error == 0)
        error = initramfs_find(name, &entry);
    if (error == 0 && offset < entry.size)
        size = entry.size - offset < FILE_CHUNK ? entry.size - offset : FILE_CHUNK;
    f = heap_alloc(sizeof(*f) + size);
    if (f == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    f->size = sizeof(*f) + size;
    f->answer = (struct msg_file_named){.value = error, .facts = facts};
    if (size > 0)
        memcpy(f->data, (const uint8_t *)entry.data + offset, size);
    msg_keep(m, &f->kept, NULL);
    msg_kept_reply_long(&f->kept, &f->answer, (uint32_t)(sizeof(f->answer) + size), fetched_done);
}

static void answer_mapped(const struct msg *m, uint64_t object)
{
    struct file_facts facts = {0};
    const char *name = "";
    int64_t error = initramfs_mapped(object, &name, &facts);
    size_t size = strlen(name);
    struct fetched *f = heap_alloc(sizeof(*f) + size);

    if (f == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    f->size = sizeof(*f) + size;
    f->answer = (struct msg_file_named){.value = error, .facts = facts};
    memcpy(f->data, name, size);
    msg_keep(m, &f->kept, NULL);
    msg_kept_reply_long(&f->kept, &f->answer, (uint32_t)(sizeof(f->answer) + size), fetched_done);
}

static void handle_name(const struct msg *m)
{
    const struct msg_file_name *asked = m->data;
    const char *name = (const char *)(asked + 1);
    size_t size = m->length - sizeof(*asked);
    struct msg_file_named answer = {.value = -EPROTO};
    struct file *file;

    if (instance.kernel == 0 && size > 0 && size <= PATH_MAX && strnlen(name, size) == size - 1) {
        switch (asked->operation) {
        case NAME_OPEN:
            answer.value = open_here(name, asked->flags, &file);
            if (answer.value == 0)
                answer.id = file->id;
            break;
        case NAME_STAT:
            answer.value = stat_here(name, &answer.facts);
            break;
        case NAME_FETCH:
            answer_fetch(m, name, asked->offset);
            return;
        case NAME_MAPPED:
            answer_mapped(m, asked->offset);
            return;
        default:
            break;
        }
    }
    msg_reply(&m->ticket, &answer, sizeof(answer));
}

void name_init(void)
{
    msg_register(MSG_FILE_NAME, handle_name, sizeof(struct msg_file_name), sizeof(struct msg_file_named));
}

/* --- any kernel --- */

/* Returns the length of the answer, or a negative errno. */
static int64_t ask_kernel_0(const struct msg_file_name *asked, const char *name, void *answer, size_t room)
{
    size_t size = sizeof(*asked) + strlen(name) + 1;
    uint8_t *message = heap_alloc(size);
    int length;

    if (message == NULL)
        return -ENOMEM;
    memcpy(message, asked, sizeof(*asked));
    memcpy(message + sizeof(*asked), name, size - sizeof(*asked));
    length = msg_call(0, MSG_FILE_NAME, message, (uint32_t)size, answer, (uint32_t)room, "file by name", 0);
    heap_free(message, size);
    return length;
}

int64_t name_fetch(const char *name, uint64_t offset, void *to, size_t room, struct file_facts *facts)
{
    struct msg_file_name asked = {.operation = NAME_FETCH, .offset = offset};
    size_t size = sizeof(struct msg_file_named) + FILE_CHUNK;
    struct msg_file_named *answer = heap_alloc(size);
    int64_t result;

    if (answer == NULL)
        return -ENOMEM;
    result = ask_kernel_0(&asked, name, answer, size);
    if (result >= 0) {
        size_t count = (size_t)result - sizeof(*answer);

        result = answer->value;
        *facts = answer->facts;
        if (result == 0) {
            result = (int64_t)(count < room ? count : room);
            memcpy(to, answer + 1, (size_t)result);
        }
    }
    heap_free(answer, size);
    return result;
}

int64_t name_mapped(uint32_t kernel, uint32_t object, char *name, size_t room, struct file_facts *facts)
{
    struct msg_file_name asked = {.operation = NAME_MAPPED, .offset = object};
    size_t size = sizeof(struct msg_file_named) + CPIO_NAME_MAX;
    struct msg_file_named *answer;
    const char *here = "";
    int64_t length;

    if (kernel != 0)
        return -ENOENT;
    if (instance.kernel == 0) {
        length = initramfs_mapped(object, &here, facts);
        if (length == 0)
            snprintf(name, room, "/%s", here);
        return length;
    }
    answer = heap_alloc(size);
    if (answer == NULL)
        return -ENOMEM;
    length = ask_kernel_0(&asked, "", answer, size);
    if (length >= 0) {
        *facts = answer->facts;
        snprintf(name, room, "/%.*s", (int)((size_t)length - sizeof(*answer)), (const char *)(answer + 1));
        length = answer->value;
    }
    heap_free(answer, size);
    return length;
}

int64_t name_stat(const char *name, bool folder, struct file_facts *facts)
{
    struct msg_file_name asked = {.operation = NAME_STAT};
    struct msg_file_named answer;
    const char *device = below(name, "dev");
    int64_t error;

    if (proc_has(name)) {
        error = proc_stat(name, facts);
    } else if (device != NULL && *device == '\0') {
        *facts = device_folder;
        error = 0;
    } else {
        error = device != NULL ? device_stat(device, facts) : -ENOENT;
        if (error == -ENOENT && instance.kernel == 0) {
            error = stat_here(name, facts);
        } else if (error == -ENOENT) {
            error = ask_kernel_0(&asked, name, &answer, sizeof(answer));
            if (error >= 0) {
                error = answer.value;
                *facts = answer.facts;
            }
        }
    }
    if (error == 0 && folder && (facts->mode & FILE_TYPE_MASK) != FILE_DIRECTORY)
        return -ENOTDIR;
    return error;
}

/* Opens what is made on the kernel that asks. -ENOENT: not of that kind. */
static int64_t open_own(const char *name, uint32_t flags, struct file **out)
{
    const char *device = below(name, "dev");
    struct directory directory = {.bytes = NULL};
    struct file_facts facts;
    int64_t error;

    if (proc_has(name)) {
        error = proc_stat(name, &facts);
        if (error == 0)
            error = check_flags(facts.mode, false, flags);
        return error == 0 ? proc_open(name, flags, out) : error;
    }
    if (device == NULL)
        return -ENOENT;
    if (*device != '\0') {
        error = device_stat(device, &facts);
        if (error == 0)
            error = check_flags(facts.mode, true, flags);
        return error == 0 ? device_open(device, flags, out) : error;
    }
    error = check_flags(device_folder.mode, false, flags);
    if (error != 0)
        return error;
    directory_add(&directory, ".", 1, device_folder.inode, FILE_DIRECTORY);
    directory_add(&directory, "..", 2, 1, FILE_DIRECTORY);
    device_list(&directory);
    return directory_open(&directory, name, &device_folder, flags, out);
}

int64_t name_open(const char *name, bool folder, uint32_t flags, struct file_place *place)
{
    struct msg_file_name asked = {.operation = NAME_OPEN, .flags = flags};
    struct msg_file_named answer;
    struct file *file = NULL;
    int64_t error;

    if (folder && (flags & OPEN_CREATE) != 0)
        return -EISDIR;
    if (folder) {
        asked.flags |= OPEN_DIRECTORY;
        flags |= OPEN_DIRECTORY;
    }
    *place = (struct file_place){.kernel = instance.kernel};
    error = open_own(name, flags, &file);
    if (error == -ENOENT && !proc_has(name)) {
        if (instance.kernel == 0) {
            error = open_here(name, flags, &file);
        } else {
            error = ask_kernel_0(&asked, name, &answer, sizeof(answer));
            if (error >= 0)
                error = answer.value;
            *place = (struct file_place){.id = answer.id, .kernel = 0};
        }
    }
    if (error == 0 && file != NULL)
        place->id = file->id;
    return error == -ENOENT && (flags & OPEN_CREATE) != 0 ? -EROFS : error;
}

/* Writes the name of the directory behind DIRECTORY to OUT. */
static int64_t start_of(struct group *group, int64_t directory, char *out)
{
    struct file_request request = {.operation = FILE_GET_FOLDER, .fd = (int32_t)directory};
    struct file_answer answer;

    if (directory != NAME_FOLDER)
        request.operation = FILE_PATH;
    return file_call(group, &request, NULL, 0, out, PATH_MAX, &answer);
}

int64_t name_absolute(struct group *group, int64_t directory, const char *path, char *out, bool *folder)
{
    size_t length = strlen(path);
    size_t size = PATH_MAX + length + 2;
    char *whole;
    int64_t error;

    if (*path == '/' || *path == '\0' || group == NULL)
        return path_normalize(path, out, PATH_MAX, folder);
    whole = heap_alloc(size);
    if (whole == NULL)
        return -ENOMEM;
    error = start_of(group, directory, whole);
    if (error >= 0) {
        whole[error] = '/';
        memcpy(whole + error + 1, path, length + 1);
        error = path_normalize(whole, out, PATH_MAX, folder);
    }
    heap_free(whole, size);
    return error;
}
