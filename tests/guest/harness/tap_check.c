/* Checks and what they find. tests/guest/harness/tap.h is the contract. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap_internal.h"

#define EXPLAINED_MAX 20 /* failures of one test that are printed */

static struct tap_report alone; /* of a child that was executed, whose parent looks at its exit status */
struct tap_report *tap_report = &alone;

bool tap_report_make(void)
{
    void *page = mmap(NULL, sizeof(*tap_report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return false;
    tap_report = page;
    return true;
}

void tap_leave(void)
{
    void *page = tap_report;

    tap_report = &alone;
    if (page != &alone && munmap(page, sizeof(*tap_report)) != 0)
        _exit(TAP_FAILED);
}

void tap_report_clear(void)
{
    tap_report->awaited[0] = tap_report->first[0] = tap_report->skip[0] = '\0';
    atomic_store(&tap_report->failures, 0);
    atomic_store(&tap_report->told, false);
}

void tap_report_rest(void)
{
    unsigned failures = atomic_load(&tap_report->failures);

    if (failures > EXPLAINED_MAX)
        tap_note("%u failures in all", failures);
}

void tap_say(const char *format, ...)
{
    va_list arguments;
    char line[700];
    int length;

    va_start(arguments, format);
    length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof(line) - 2)
        length = (int)sizeof(line) - 2;
    line[length++] = '\n';
    /* There is nowhere to report that nothing can be reported. */
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        return;
}

void tap_note(const char *format, ...)
{
    va_list arguments;
    char text[400];

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    tap_say("# %s", text);
}

/* Writes "# FILE:LINE: process P on kernel K: TEXT" and keeps TEXT when it is the test's first failure. */
static void explain(const char *file, int line, const char *text)
{
    unsigned before = atomic_fetch_add(&tap_report->failures, 1);

    if (before == 0)
        snprintf(tap_report->first, TAP_TEXT, "%s", text);
    if (before < EXPLAINED_MAX)
        tap_say("# %s:%d: process %d on kernel %d: %s", file, line, (int)getpid(), kettle_kernel(), text);
}

bool tap_broken(const char *file, int line, const char *condition, const char *format, ...)
{
    int error = errno;
    va_list arguments;
    char text[500];
    int length = snprintf(text, sizeof(text), "%.200s: ", condition);

    va_start(arguments, format);
    vsnprintf(text + length, sizeof(text) - (size_t)length, format, arguments);
    va_end(arguments);
    explain(file, line, text);
    errno = error;
    return false;
}

long tap_must(long result, const char *file, int line, const char *call)
{
    char text[TAP_TEXT];

    if (result != -1)
        return result;
    snprintf(text, sizeof(text), "%.120s: %s", call, tap_error(errno));
    explain(file, line, text);
    tap_stop();
}

bool tap_check_error(long result, int error, const char *file, int line, const char *call)
{
    int found = errno;
    char text[TAP_TEXT];

    if (result == -1 && found == error)
        return true;
    if (result == -1)
        snprintf(text, sizeof(text), "%.110s: fails with %s, not %s", call, tap_error(found), tap_error(error));
    else
        snprintf(text, sizeof(text), "%.90s: returns %ld, does not fail with %s", call, result, tap_error(error));
    explain(file, line, text);
    return false;
}

void tap_stop(void)
{
    tap_result_of_end();
    _exit(TAP_FAILED);
}

void tap_skip(const char *reason)
{
    snprintf(tap_report->skip, TAP_TEXT, "%s", reason);
}

bool tap_skip_alone(void)
{
    int kernels[64];

    if (!tap_on_kettle())
        tap_skip("no Kettle");
    else if (tap_kernels(kernels) < 2)
        tap_skip("one started kernel");
    else
        return false;
    return true;
}

void tap_await(const char *what)
{
    snprintf(tap_report->awaited, TAP_TEXT, "%s", what == NULL ? "" : what);
}

const char *tap_error(int error)
{
    static const struct {
        int error;
        const char *name;
    } names[] = {
#define NAME(error) {error, #error}
        NAME(EPERM),        NAME(ENOENT),       NAME(ESRCH),      NAME(EINTR),      NAME(EIO),    NAME(E2BIG),
        NAME(ENOEXEC),      NAME(EBADF),        NAME(ECHILD),     NAME(EAGAIN),     NAME(ENOMEM), NAME(EACCES),
        NAME(EFAULT),       NAME(EBUSY),        NAME(EEXIST),     NAME(EXDEV),      NAME(ENODEV), NAME(ENOTDIR),
        NAME(EISDIR),       NAME(EINVAL),       NAME(EMFILE),     NAME(ENOTTY),     NAME(EFBIG),  NAME(ENOSPC),
        NAME(ESPIPE),       NAME(EROFS),        NAME(EPIPE),      NAME(ERANGE),     NAME(ENOSYS), NAME(ENOTEMPTY),
        NAME(ENAMETOOLONG), NAME(ELOOP),        NAME(ETIMEDOUT),  NAME(EOVERFLOW),  NAME(EIDRM),  NAME(ENOMSG),
        NAME(EDEADLK),      NAME(EDESTADDRREQ), NAME(EOPNOTSUPP), NAME(EOWNERDEAD),
#undef NAME
    };

    for (size_t i = 0; i < TAP_COUNT(names); i++) {
        if (names[i].error == error)
            return names[i].name;
    }
    return strerror(error);
}
