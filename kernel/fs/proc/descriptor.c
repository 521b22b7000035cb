/* /proc/PID/fdinfo, as in proc(5): the position and the flags of each open descriptor, and the watches of inotify. */
#include "kernel/fs/proc/descriptor.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/remote.h"
#include "kernel/fs/inotify/inotify.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/process/permission.h"

#define INFO_TEXT 512u
#define LINE_TEXT 128u
#define LINES 64u /* watches per request */

static int64_t ask(const struct proc_at *at, struct file_request request, const void *data, size_t size, void *result,
                   size_t room)
{
    struct file_answer answer;

    request.fd = (int32_t)at->keys[1];
    return file_call_process((uint32_t)at->keys[0], &request, data, size, result, room, &answer);
}

/* Appends a line for each watch, if the descriptor is one of inotify. */
static int64_t write_watches(const struct proc_at *at, struct text *text)
{
    const struct file_request request = {.operation = MSG_FILE_OPERATE, .special.what = SPECIAL_WATCH_LIST};
    struct watch_line *lines = heap_alloc_unset(LINES * sizeof(*lines));
    int64_t size = 0, error = 0;
    uint32_t done = 0;

    if (lines == NULL)
        return -ENOMEM;
    do {
        size = ask(at, request, &done, sizeof(done), lines, LINES * sizeof(*lines));
        if (size <= 0) /* an error: it is no inotify file, or has been closed */
            break;
        error = proc_text_grow(text, (size_t)size / sizeof(*lines) * LINE_TEXT);
        for (uint32_t i = 0; i < (size_t)size / sizeof(*lines) && error == 0; i++)
            text_put(text, "inotify wd:%x ino:%lx sdev:%x mask:%x ignored_mask:0\n", (uint32_t)lines[i].number,
                     (unsigned long)lines[i].inode, lines[i].device, lines[i].mask);
        done += (uint32_t)((size_t)size / sizeof(*lines));
        slice_check();
    } while (error == 0 && (size_t)size == LINES * sizeof(*lines));
    heap_free(lines, LINES * sizeof(*lines));
    return error;
}

/* Writes VALUE with a leading 0 to DIGITS. */
static const char *octal(uint32_t value, char digits[16])
{
    char *at = digits + 15;

    *at = '\0';
    for (; value != 0; value /= 8)
        *--at = (char)('0' + value % 8);
    *--at = '0';
    return at;
}

static int64_t write_info(const struct proc_at *at, struct text *text)
{
    char digits[16];
    int64_t flags, marks, place, error = credentials_may_reach((uint32_t)at->keys[0], true);

    if (error != 0)
        return error == -EPERM ? -EACCES : error;
    flags = ask(at, (struct file_request){.operation = MSG_FILE_GET_FLAGS}, NULL, 0, NULL, 0);
    marks = ask(at, (struct file_request){.operation = MSG_FILE_GET_DESCRIPTOR}, NULL, 0, NULL, 0);
    if (flags < 0 || marks < 0)
        return -ENOENT;
    place = ask(at, (struct file_request){.operation = MSG_FILE_SEEK, .seek.whence = 1}, NULL, 0, NULL, 0);
    error = proc_text(text, INFO_TEXT);
    if (error != 0)
        return error;
    text_put(text, "pos:\t%ld\nflags:\t%s\n", place < 0 ? 0 : (long)place,
             octal((uint32_t)flags | ((marks & DESCRIPTOR_CLOEXEC) != 0 ? OPEN_CLOEXEC : 0), digits));
    return write_watches(at, text);
}

static const struct proc_row info_row = {.name = "", .write = write_info, .mode = 0400};
const struct proc_directory descriptor_info = {.rows = &info_row, .count = 1};
