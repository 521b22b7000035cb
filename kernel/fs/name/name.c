/* Files by name, from any kernel. See the header. */
#include "kernel/fs/name/name.h"

#include "kernel/abi/errno.h"
#include "kernel/file/copy.h"
#include "kernel/file/operation.h"
#include "kernel/file/path.h"
#include "kernel/file/permission.h"
#include "kernel/file/remote.h"
#include "kernel/file/root.h"
#include "kernel/fs/device/device.h"
#include "kernel/fs/name/proc.h"
#include "kernel/fs/node/revocation.h"
#include "kernel/fs/remote/remote.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "kernel/tty/job.h"
#include "mm/frame/heap.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define RETRIES_MAX 1000u /* retries when a starting directory is closed between the home's answer and the request */

/* The state of resolving one name. */
struct way {
    uint64_t start; /* the open file of kernel 0 where TEXT begins, or 0: the root */
    char *text;     /* heap, PATH_MAX */
    bool in;        /* the name is below /proc or /sys, as WALK says */
    bool whole;     /* NAME_TREE: kernel 0 ignores the caller's root */
    bool full;      /* TEXT is absolute from the root of the tree, whatever the caller's root is */
    struct proc_walk walk;
};

static int32_t start_of(const struct name *name)
{
    return name->directory == NAME_WORKING_DIRECTORY ? FILE_WORKING_DIRECTORY : (int32_t)name->directory;
}

/* Finds the starting directory of a relative name, an open file. */
static int64_t find_start(struct group *group, const struct name *name, struct way *way)
{
    struct file_request request = {.operation = MSG_FILE_PATH, .fd = -1};
    int32_t fd = start_of(name);
    struct file_answer answer;
    struct file_place place;
    size_t length = strlen(name->path);
    int64_t result;

    if (name->directory < 0 && name->directory != NAME_WORKING_DIRECTORY)
        return -EBADF;
    result = file_locate(group, fd, &place);
    if (result < 0)
        return result;
    if (place.id == 0)
        return fd == FILE_WORKING_DIRECTORY ? 0 : -EBADF; /* 0: the root */
    if (place.kernel == 0) {
        way->start = place.id;
        return 0;
    }
    /* not the tree: a directory of /proc, or not a directory */
    result = file_call_at(&place, &request, NULL, 0, way->text, PATH_MAX, &answer);
    if (result < 0)
        return result;
    if ((size_t)result + length + 2 > PATH_MAX)
        return -ENAMETOOLONG;
    way->text[result] = '/';
    memcpy(way->text + result + 1, name->path, length + 1);
    way->full = true;
    return 0;
}

/* WAY's text has been set: walks the part of it that is below /proc. Returns 1 if a magic link (proc.h) ends the name.
 */
static int64_t walk_proc(struct way *way, bool follow, uint32_t *links)
{
    int64_t result;

    if ((!way->full && thread_current()->context.credentials.root != 0) || !name_is_proc(way->text))
        return 0;
    way->start = 0;
    way->walk.text = way->text;
    way->walk.links = *links;
    result = name_walk_proc(&way->walk, follow);
    *links = way->walk.links;
    way->in = result != PROC_OUT;
    way->full = way->in;
    return result == PROC_MAGIC ? 1 : result < 0 ? result : 0;
}

static int64_t begin_way(struct group *group, const struct name *name, struct way *way)
{
    size_t length = strlen(name->path);

    *way = (struct way){.text = heap_alloc_unset(PATH_MAX)};
    way->full = way->whole = name->directory == NAME_TREE;
    if (way->text == NULL)
        return -ENOMEM;
    if (length >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(way->text, name->path, length + 1);
    return name->path[0] == '/' || group == NULL ? 0 : find_start(group, name, way);
}

/* Returns true if a symbolic link in the last part of the first name is followed. */
static bool follows(const struct msg_file_name *asked)
{
    switch (asked->operation) {
    case MSG_NAME_OPEN:
        return (asked->flags & OPEN_NO_FOLLOW) == 0 &&
               (asked->flags & (OPEN_CREATE | OPEN_EXCLUSIVE)) != (OPEN_CREATE | OPEN_EXCLUSIVE);
    case MSG_NAME_STAT:
    case MSG_NAME_CHANGE:
    case MSG_NAME_LINK:
        return (asked->flags & NAME_NO_FOLLOW) == 0;
    default:
        return false;
    }
}

/* Checks that the open file PLACE may be executed, and sets the results of OPEN_RUN. */
static int64_t check_run(const struct file_place *place, struct name_result *result)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = -1};
    const struct file_facts *facts = &result->facts;
    struct file_answer answer;
    struct file_user user;
    size_t size = permission_user(&thread_current()->context.credentials, &user);
    int64_t error = file_call_at(place, &request, NULL, 0, &result->facts, sizeof(result->facts), &answer);

    if (error < 0)
        return error;
    result->version = UINT64_MAX; /* unknown; the file's times take its place */
    result->text = heap_alloc(PATH_MAX);
    if (result->text == NULL)
        return -ENOMEM;
    return (facts->mode & FILE_TYPE_MASK) == FILE_REGULAR
               ? permission_check(size != 0 ? &user : NULL, facts->mode, facts->uid, facts->gid, MAY_EXECUTE)
               : -EACCES;
}

/* The data of FILE_CHANGE: the user follows unless it is root. */
struct user_change {
    struct node_change change;
    struct file_user user;
};

static size_t change_by_user(const struct node_change *change, struct user_change *out)
{
    out->change = *change;
    return sizeof(out->change) + permission_user(&thread_current()->context.credentials, &out->user);
}

int64_t name_change(struct group *group, int32_t fd, const struct node_change *change)
{
    struct file_request request = {.operation = MSG_FILE_CHANGE, .fd = fd};
    struct file_answer answer;
    struct user_change data;
    size_t size = change_by_user(change, &data);

    return file_call(group, &request, &data, size, NULL, 0, &answer);
}

static int64_t change_at(const struct file_place *place, const struct node_change *change)
{
    struct file_request request = {.operation = MSG_FILE_CHANGE, .fd = -1};
    struct file_answer answer;
    struct user_change data;
    size_t size = change_by_user(change, &data);

    return file_call_at(place, &request, &data, size, NULL, 0, &answer);
}

/* Whether the file at PLACE may be opened again: neither a socket nor what has no inode of its own, an eventfd, say. */
static int64_t may_reopen(const struct file_place *place)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = -1};
    struct file_answer answer;
    struct file_facts facts;
    int64_t error = file_call_at(place, &request, NULL, 0, &facts, sizeof(facts), &answer);
    uint32_t type = facts.mode & FILE_TYPE_MASK;

    if (error < 0)
        return error;
    return type == 0 || type == FILE_SOCKET ? -ENXIO : 0;
}

/* Performs an operation on the open file PLACE, which has no name; an open shares that open file. */
static int64_t do_magic(const struct msg_file_name *asked, const struct file_place *place, struct name_result *result)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = -1};
    struct file_answer answer;
    int64_t error = 0;

    switch (asked->operation) {
    case MSG_NAME_STAT:
        error = file_call_at(place, &request, NULL, 0, &result->facts, sizeof(result->facts), &answer);
        return error < 0 ? error : 0;
    case MSG_NAME_CHANGE:
        return change_at(place, &asked->change);
    case MSG_NAME_OPEN:
        if ((asked->flags & OPEN_RUN) != 0)
            error = check_run(place, result);
        else if ((asked->flags & OPEN_PATH) == 0)
            error = may_reopen(place);
        if (error < 0)
            return error;
        error = file_share_at(place);
        result->place = *place;
        return error == -EBADF ? -ENOENT : error;
    default:
        return -EXDEV;
    }
}

static int64_t do_inside(const struct msg_file_name *asked, const struct way *way, bool second,
                         struct name_result *result)
{
    struct file *file = NULL;
    char *text = heap_alloc_unset(PATH_MAX);
    int64_t error;

    if (text == NULL)
        return -ENOMEM;
    error = name_do_proc(asked, &way->walk, second, &result->facts, text, &file);
    if (error == 0 && asked->operation == MSG_NAME_READ_LINK) {
        result->text = text;
        return 0;
    }
    heap_free(text, PATH_MAX);
    if (file != NULL)
        result->place = (struct file_place){.id = file->id, .kernel = instance.kernel};
    return error;
}

/* Waits until the other end of the FIFO that was opened at PLACE is open, or was since then. A signal ends the wait,
 * but not when the other end came before it: the caller would open again and wait for an end that has come and gone.
 * The last look and the end of this one are one step, so that the other end does not meet an opener that is about to
 * go. */
static int64_t await_other_end(const struct file_place *place)
{
    struct file_request request = {.operation = MSG_FILE_OPENED, .fd = -1};
    struct file_answer answer;
    int64_t ended = 0, error;

    while ((error = file_call_at(place, &request, NULL, 0, NULL, 0, &answer)) == -EAGAIN && ended == 0) {
        ended = watch_wait_at(0, WATCH_FILE, place->id, answer.seen, "the other end of a FIFO", 0);
        request.gives_up = ended != 0;
    }
    return error == -EAGAIN ? ended : error;
}

/* Completes the operation with the reply of kernel 0. */
static int64_t take_result(const struct msg_file_name *asked, struct tree_result *tree, struct name_result *result)
{
    struct file *file;
    int64_t error = 0;

    result->facts = tree->facts;
    result->text = tree->text;
    result->version = tree->answer.number;
    result->place = (struct file_place){.id = tree->answer.id, .kernel = 0};
    switch (tree->answer.what) {
    case NAMED_TERMINAL:
        job_opened(&result->place, (uint32_t)tree->answer.number, asked->flags);
        break;
    case NAMED_DEVICE:
        if (job_opens(tree->answer.number))
            return job_open(tree->answer.number, asked->flags, &result->place);
        error = device_open(tree->answer.number, &tree->facts, asked->flags, &file);
        if (error == 0)
            result->place = (struct file_place){.id = file->id, .kernel = instance.kernel};
        return error;
    case NAMED_INSTALLED:
        result->installed = true;
        result->fd = (int32_t)tree->answer.number;
        break;
    case NAMED_FILE_SETTLES:
        node_settle(0, tree->answer.number);
        break;
    case NAMED_FILE_WAIT:
        error = await_other_end(&result->place);
        break;
    default:
        break;
    }
    if (error < 0)
        file_drop(0, tree->answer.id);
    return error < 0 ? error : 0;
}

/* WAY is a magic link: if kernel 0 has its file, an open or a link goes there, as with an empty name that begins at the
 * file; so an open makes an open file of its own. */
static bool begin_at_magic(struct msg_file_name *asked, struct way *way)
{
    bool opens = asked->operation == MSG_NAME_OPEN && (asked->flags & OPEN_TEMPORARY) == 0;

    if (way->walk.place.kernel != 0 || (!opens && asked->operation != MSG_NAME_LINK))
        return false;
    asked->flags |= opens ? OPEN_PLACE : NAME_EMPTY;
    way->text[0] = '\0';
    way->start = way->walk.place.id;
    way->in = false;
    return true;
}

/* Sends requests until the operation is done. Each round either follows a link into or out of /proc, or ends with
 * -ESRCH if a starting directory was closed. */
static int64_t ask(struct msg_file_name *asked, struct way ways[2], bool two, struct name_result *result)
{
    for (;;) {
        struct tree_result tree;
        uint32_t turned;
        int64_t error = 0;

        for (uint32_t i = 0; i < (two ? 2u : 1u) && error == 0; i++) {
            if (!ways[i].in)
                error = walk_proc(&ways[i], i == 0 && follows(asked), &asked->links);
        }
        if (error == 1 && !begin_at_magic(asked, &ways[0]))
            return do_magic(asked, &ways[0].walk.place, result);
        if (error < 0)
            return error;
        if (ways[0].in)
            return do_inside(asked, &ways[0], false, result);
        if (ways[1].in)
            return do_inside(asked, &ways[1], true, result);
        asked->start = ways[0].start;
        asked->second = ways[1].start;
        error = tree_ask(asked, ways[0].text, ways[1].text, ways[0].whole, &tree);
        if (error == -EXDEV &&
            asked->operation == MSG_NAME_OPEN) /* the file of a magic link is no node of kernel 0's */
            return do_magic(asked, &ways[0].walk.place, result);
        if (error < 0 || (tree.answer.what != NAMED_ON && tree.answer.what != NAMED_SECOND_ON)) {
            if (error == 0)
                return take_result(asked, &tree, result);
            heap_free(tree.text, PATH_MAX);
            return error;
        }
        turned = tree.answer.what == NAMED_ON ? 0 : 1;
        if (tree.text == NULL)
            return -EPROTO;
        heap_free(ways[turned].text, PATH_MAX);
        ways[turned].text = tree.text;
        ways[turned].start = 0;
        ways[turned].full = true;
        if (tree.answer.links > asked->links)
            asked->links = tree.answer.links;
    }
}

static int64_t do_once(struct group *group, struct msg_file_name *asked, const struct name *first,
                       const struct name *second, bool two, struct name_result *result)
{
    struct way ways[2] = {{.text = NULL}, {.text = NULL}};
    int64_t error = root_look();

    *result = (struct name_result){.text = NULL};
    asked->links = 0;
    if (error == 0)
        error = begin_way(group, first, &ways[0]);
    if (error == 0)
        error = begin_way(two ? group : NULL, second, &ways[1]);
    if (error == 0)
        error = ask(asked, ways, two, result);
    heap_free(ways[0].text, PATH_MAX);
    heap_free(ways[1].text, PATH_MAX);
    return error;
}

int64_t name_do(struct group *group, const struct msg_file_name *asked, const struct name *first,
                const struct name *second, struct name_result *result)
{
    static const struct name none = {NAME_WORKING_DIRECTORY, ""};
    bool two = asked->operation == MSG_NAME_LINK || asked->operation == MSG_NAME_RENAME;
    bool may_be_empty = (asked->flags & NAME_EMPTY) != 0 && asked->operation != MSG_NAME_OPEN;
    struct msg_file_name own = *asked;
    int64_t error = -ESRCH;

    *result = (struct name_result){.text = NULL};
    if (second == NULL)
        second = &none;
    if ((first->path[0] == '\0' && !may_be_empty) || (two && second->path[0] == '\0'))
        return -ENOENT;
    for (uint32_t i = 0; i < RETRIES_MAX && error == -ESRCH; i++)
        error = do_once(group, &own, first, second, two, result);
    return error == -ESRCH ? -ENOENT : error;
}

void name_result_free(struct name_result *result)
{
    heap_free(result->text, PATH_MAX);
    result->text = NULL;
}

int64_t name_open(struct group *group, const struct name *name, uint32_t flags, uint32_t mode,
                  struct name_result *result)
{
    struct msg_file_name asked = {.operation = MSG_NAME_OPEN, .flags = flags, .mode = mode};

    asked.flags &= ~OPEN_INSTALL;
    if ((flags & OPEN_INSTALL) != 0 && group->home == 0 && instance.kernel != 0)
        asked.number = group->id;
    *result = (struct name_result){.text = NULL};
    if ((flags & OPEN_PATH) != 0)
        asked.flags &= OPEN_PATH | OPEN_DIRECTORY | OPEN_NO_FOLLOW | OPEN_CLOEXEC;
    else if ((flags & OPEN_TEMPORARY) != 0 &&
             ((flags & OPEN_ACCESS) == 0 || (flags & (OPEN_DIRECTORY | OPEN_CREATE)) != OPEN_DIRECTORY))
        return -EINVAL;
    return name_do(group, &asked, name, NULL, result);
}

int64_t name_stat(struct group *group, const struct name *name, uint32_t flags, struct file_facts *facts)
{
    struct msg_file_name asked = {.operation = MSG_NAME_STAT, .flags = flags};
    struct name_result result;
    int64_t error = name_do(group, &asked, name, NULL, &result);

    *facts = result.facts;
    name_result_free(&result);
    return error;
}
