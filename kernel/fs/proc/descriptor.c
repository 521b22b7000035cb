/* /proc/PID/fdinfo, as in proc(5): the position, flags and inode of each open descriptor, and what kinds of
 * files without names tell of themselves. */
#include "kernel/fs/proc/descriptor.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/remote.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/process/permission.h"

#define INFO_TEXT 512u
#define LINES_TEXT 2048u /* bytes per request */

static int64_t ask(const struct proc_at *at, struct file_request request, const void *data, size_t size, void *result,
                   size_t room)
{
    struct file_answer answer;

    request.fd = (int32_t)at->keys[1];
    return file_call_process((uint32_t)at->keys[0], &request, data, size, result, room, &answer);
}

static uint32_t count_lines(const char *text, size_t size)
{
    uint32_t count = 0;

    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    return count;
}

/* Appends what the descriptor's kind of file tells of itself, if it does. */
static int64_t write_lines(const struct proc_at *at, struct text *text)
{
    const struct file_request request = {.operation = MSG_FILE_OPERATE, .special.what = SPECIAL_INFO};
    char *lines = heap_alloc_unset(LINES_TEXT);
    int64_t size = 0, error = 0;
    uint32_t done = 0, more = 0;

    if (lines == NULL)
        return -ENOMEM;
    do {
        size = ask(at, request, &done, sizeof(done), lines, LINES_TEXT);
        if (size <= 0) /* an error: it tells nothing, or has been closed */
            break;
        more = count_lines(lines, (size_t)size);
        error = proc_text_grow(text, (size_t)size);
        if (error == 0)
            text_put(text, "%.*s", (int)size, lines);
        done += more;
        slice_check();
    } while (error == 0 && more > 0);
    heap_free(lines, LINES_TEXT);
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
    struct file_facts facts;
    char digits[16];
    int64_t flags, marks, place, error = credentials_may_reach((uint32_t)at->keys[0], true);

    if (error != 0)
        return error == -EPERM ? -EACCES : error;
    flags = ask(at, (struct file_request){.operation = MSG_FILE_GET_FLAGS}, NULL, 0, NULL, 0);
    marks = ask(at, (struct file_request){.operation = MSG_FILE_GET_DESCRIPTOR}, NULL, 0, NULL, 0);
    if (flags < 0 || marks < 0)
        return -ENOENT;
    place = ask(at, (struct file_request){.operation = MSG_FILE_SEEK, .seek.whence = 1}, NULL, 0, NULL, 0);
    error = ask(at, (struct file_request){.operation = MSG_FILE_STAT}, NULL, 0, &facts, sizeof(facts));
    if (error < 0)
        return -ENOENT;
    error = proc_text(text, INFO_TEXT);
    if (error != 0)
        return error;
    text_put(text, "pos:\t%ld\nflags:\t%s\nino:\t%lu\n", place < 0 ? 0 : (long)place,
             octal((uint32_t)flags | ((marks & DESCRIPTOR_CLOEXEC) != 0 ? OPEN_CLOEXEC : 0), digits),
             (unsigned long)facts.inode);
    return write_lines(at, text);
}

static const struct proc_row info_row = {.name = "", .write = write_info, .mode = 0400};
const struct proc_directory descriptor_info = {.rows = &info_row, .count = 1};
