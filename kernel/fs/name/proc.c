/* Walks below /proc and /sys. See the header. A link is followed by its text; a link with an absolute target elsewhere,
 * and ".." at the top of /proc or /sys, lead out. A link to a file without a name (a pipe, or a file that was removed)
 * is "magic": it leads to the open file itself. */
#include "kernel/fs/name/proc.h"

#include "kernel/abi/errno.h"
#include "kernel/file/path.h"
#include "kernel/file/remote.h"
#include "kernel/fs/proc/proc.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/process/group.h"
#include "tasks/process/permission.h"
#include "tasks/thread/thread.h"

#define LINKS_MAX 40u
#define PROC "proc/"

static const char *skip_slashes(const char *text)
{
    while (*text == '/')
        text++;
    return text;
}

bool name_is_proc(const char *text)
{
    return *text == '/' && proc_has(skip_slashes(text));
}

/* Copies the first part of TEXT, which is proc or sys, to AT. Returns its length; *REST is the rest of TEXT. */
static size_t begin_at(const char *text, char *at, const char **rest)
{
    const char *name = skip_slashes(text);
    size_t length = 0;

    while (name[length] != '\0' && name[length] != '/')
        length++;
    memcpy(at, name, length);
    at[length] = '\0';
    *rest = name + length;
    return length;
}

/* Sets TEXT to FIRST followed by AFTER, which may be a part of TEXT. */
static int64_t join(char *text, const char *first, size_t length, const char *after)
{
    size_t more = strlen(after);

    if (length + more + 1 > PATH_MAX)
        return -ENAMETOOLONG;
    memmove(text + length, after, more + 1);
    memcpy(text, first, length);
    return 0;
}

static bool take_number(const char **at, uint32_t *number)
{
    const char *text = *at;

    for (*number = 0; *text >= '0' && *text <= '9' && *number < 100000000; text++)
        *number = *number * 10 + (uint32_t)(*text - '0');
    if (text == *at)
        return false;
    *at = text;
    return true;
}

/* If NAME is an open descriptor of a process, finds the place of its file. 1: found; 0: NAME is not such a descriptor;
 * -EACCES. */
static int64_t find_open(const char *name, struct file_place *place)
{
    struct file_request request = {.operation = MSG_FILE_LOCATE};
    struct file_answer answer;
    uint32_t process, fd, thread;

    if (strncmp(name, PROC, strlen(PROC)) != 0)
        return 0;
    name += strlen(PROC);
    if (strncmp(name, "self/", 5) == 0 && thread_current()->group != NULL) {
        process = thread_current()->group->id;
        name += 4;
    } else if (!take_number(&name, &process)) {
        return 0;
    }
    if (strncmp(name, "/task/", 6) == 0) { /* a thread has the descriptors of its process */
        name += 6;
        if (!take_number(&name, &thread))
            return 0;
    }
    if (strncmp(name, "/fd/", 4) != 0)
        return 0;
    name += 4;
    if (!take_number(&name, &fd) || *name != '\0')
        return 0;
    if (credentials_may_reach(process, true) == -EPERM)
        return -EACCES;
    return file_call_process(process, &request, &(int32_t){(int32_t)fd}, sizeof(int32_t), place, sizeof(*place),
                             &answer) == sizeof(*place) &&
                   place->id != 0
               ? 1
               : 0;
}

struct steps {
    char at[PATH_MAX];     /* the current position, normalized (dirent.h) */
    char target[PATH_MAX]; /* target of a link */
};

/* Follows steps->at if it is a link. AFTER is the rest of the path, and PARENT the length of the link's directory in
 * steps->at. 1: it is not a link; 0: followed: *MAGIC, and walk->place is the open file, or walk->text is the path to
 * continue with. */
static int64_t try_link(struct proc_walk *walk, struct steps *steps, size_t parent, const char *after, bool *magic)
{
    int64_t length = proc_link(steps->at, steps->target, PATH_MAX - 1), open;

    *magic = false;
    if (length == -EINVAL || length == -ENOENT)
        return 1;
    if (length < 0)
        return length;
    if (++walk->links > LINKS_MAX)
        return -ELOOP;
    steps->target[length] = '\0';
    open = steps->target[0] != '/' ? find_open(steps->at, &walk->place) : 0;
    if (open < 0)
        return open;
    if (open == 1) {
        *magic = true;
        return *skip_slashes(after) == '\0' ? 0 : -ENOTDIR;
    }
    steps->at[parent] = '\0'; /* a relative target is relative to the link's directory */
    return join(walk->text, steps->target, (size_t)length, after);
}

static int64_t walk_on(struct proc_walk *walk, struct steps *steps, bool follow)
{
    const char *rest;
    size_t base = begin_at(walk->text, steps->at, &rest), used = base;

    for (;;) {
        const char *name = skip_slashes(rest);
        size_t length = 0, before = used;
        bool magic;
        int64_t result;

        while (name[length] != '\0' && name[length] != '/')
            length++;
        rest = name + length;
        walk->directory = length == 0;
        if (length == 0)
            break;
        if (length == 1 && name[0] == '.')
            continue;
        if (length == 2 && name[0] == '.' && name[1] == '.') {
            if (used == base) {
                result = join(walk->text, "/", 1, rest);
                return result != 0 ? result : PROC_OUT;
            }
            while (steps->at[used - 1] != '/')
                used--;
            steps->at[--used] = '\0';
            continue;
        }
        if (length > NAME_MAX || used + length + 2 > PATH_MAX)
            return -ENAMETOOLONG;
        steps->at[used++] = '/';
        memcpy(steps->at + used, name, length);
        used += length;
        steps->at[used] = '\0';
        if (*rest == '\0' && !follow)
            break;
        result = try_link(walk, steps, before, rest, &magic);
        if (result < 0)
            return result;
        if (result == 0 && magic)
            return PROC_MAGIC;
        if (result == 0 && steps->target[0] == '/') {
            if (!name_is_proc(walk->text))
                return PROC_OUT;
            base = used = begin_at(walk->text, steps->at, &rest);
        } else if (result == 0) {
            rest = walk->text;
            used = before;
        }
        if (*rest == '\0')
            break;
    }
    memcpy(walk->text, steps->at, used + 1);
    return PROC_IN;
}

int64_t name_walk_proc(struct proc_walk *walk, bool follow)
{
    struct steps *steps = heap_alloc(sizeof(*steps));
    int64_t result = -ENOMEM;

    if (steps != NULL)
        result = walk_on(walk, steps, follow);
    heap_free(steps, sizeof(*steps));
    return result;
}

static int64_t open_proc(const struct msg_file_name *asked, const struct proc_walk *walk,
                         const struct file_facts *facts, struct file **out)
{
    bool writing = (asked->flags & OPEN_ACCESS) != 0 || (asked->flags & OPEN_TRUNCATE) != 0;
    bool directory = (facts->mode & FILE_TYPE_MASK) == FILE_DIRECTORY;

    if ((asked->flags & OPEN_TEMPORARY) != 0)
        return directory ? -EOPNOTSUPP : -ENOTDIR;
    if ((asked->flags & OPEN_CREATE) != 0 && (asked->flags & OPEN_EXCLUSIVE) != 0)
        return -EEXIST;
    if ((asked->flags & OPEN_CREATE) != 0 && directory)
        return -EISDIR;
    if ((asked->flags & OPEN_DIRECTORY) != 0 && !directory)
        return -ENOTDIR;
    if (writing && (asked->flags & OPEN_PATH) == 0 && (directory || (facts->mode & 0222) == 0))
        return directory ? -EISDIR : -EROFS;
    if ((asked->flags & OPEN_RUN) != 0)
        return -EACCES;
    return proc_open(walk->text, asked->flags, out);
}

/* The error of an attempt to create NAME: -EPERM if its directory exists. */
static int64_t may_hold(const char *name)
{
    char *directory = heap_alloc(PATH_MAX);
    size_t length = strlen(name);
    struct file_facts facts;
    int64_t error;

    if (directory == NULL)
        return -ENOMEM;
    while (name[length] != '/') /* NAME contains a slash */
        length--;
    memcpy(directory, name, length);
    directory[length] = '\0';
    error = proc_stat(directory, &facts);
    heap_free(directory, PATH_MAX);
    return error != 0 ? error : (facts.mode & FILE_TYPE_MASK) == FILE_DIRECTORY ? -EPERM : -ENOTDIR;
}

int64_t name_do_proc(const struct msg_file_name *asked, const struct proc_walk *walk, bool second,
                     struct file_facts *facts, char *result_text, struct file **out)
{
    bool top = strchr(walk->text, '/') == NULL;
    bool directory;
    int64_t error = proc_stat(walk->text, facts);

    if (asked->operation == MSG_NAME_RENAME) /* before the check that the name exists, as in Linux */
        return top ? -EBUSY : -EXDEV;
    if (error == -ENOENT && !top && strncmp(walk->text, "sys/", 4) == 0 &&
        (asked->operation == MSG_NAME_CREATE || (second && asked->operation == MSG_NAME_LINK)))
        return may_hold(walk->text); /* Linux's /sys looks the name up, and then has no operation to create it */
    if (error != 0)
        return error;
    directory = (facts->mode & FILE_TYPE_MASK) == FILE_DIRECTORY;
    if (asked->operation == MSG_NAME_CREATE || (second && asked->operation == MSG_NAME_LINK))
        return -EEXIST;
    if (walk->directory && !directory)
        return -ENOTDIR;
    switch (asked->operation) {
    case MSG_NAME_OPEN:
        return open_proc(asked, walk, facts, out);
    case MSG_NAME_STAT:
        return 0;
    case MSG_NAME_READ_LINK:
        error = proc_link(walk->text, result_text, PATH_MAX - 1);
        if (error >= 0)
            result_text[error] = '\0';
        return error < 0 ? error : 0;
    case MSG_NAME_UNLINK:
        return directory ? -EISDIR : -EPERM;
    case MSG_NAME_REMOVE_DIRECTORY:
        return top ? -EBUSY : directory ? -EPERM : -ENOTDIR;
    case MSG_NAME_LINK:
        return -EXDEV;
    case MSG_NAME_CHANGE:
        return -EPERM;
    default:
        return -EPROTO;
    }
}
