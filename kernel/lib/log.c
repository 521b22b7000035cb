/* The kernel log on the debug console. See the header. */
#include "kernel/lib/log.h"

#include <stdarg.h>

#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/lib/printf.h"

#define LOG_PORT 0xe9
#define OWNER_SPINS 2000000u /* after this many spins the owner is assumed dead */

struct log_source log_source = {.kernel = -1};

static uint32_t own_mark(void)
{
    return log_source.cpu() + 1;
}

/* Whether the calling CPU was in the middle of a line when an NMI came. */
static bool was_writing(void)
{
    return log_source.owner != NULL && __atomic_load_n(log_source.owner, __ATOMIC_RELAXED) == own_mark();
}

static bool console_take(void)
{
    if (log_source.owner == NULL)
        return false;
    for (unsigned spins = 0; spins < OWNER_SPINS; spins++) {
        uint32_t nobody = 0;

        if (__atomic_compare_exchange_n(log_source.owner, &nobody, own_mark(), false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return true;
        cpu_pause();
    }
    return true; /* the caller writes without owning the console; its release then frees the console for all */
}

static void console_give(bool taken)
{
    if (taken)
        __atomic_store_n(log_source.owner, 0u, __ATOMIC_RELEASE);
}

void log_raw(const char *text)
{
    for (; *text != '\0'; text++)
        outb(LOG_PORT, (uint8_t)*text);
}

static void write_line(const char *prefix, const char *text)
{
    uint64_t flags = read_rflags();
    bool taken;

    interrupts_off();
    taken = !was_writing() && console_take();
    if (!taken && log_source.owner != NULL)
        log_raw("\n"); /* the line that it was in stays cut */
    log_raw(prefix);
    log_raw(text);
    log_raw("\n");
    console_give(taken);
    if ((flags & RFLAGS_IF) != 0)
        interrupts_on();
}

void log_leave(void)
{
    if (!was_writing())
        return;
    log_raw("\n");
    console_give(true);
}

void log_line(const char *format, ...)
{
    char text[LOG_LINE_MAX];
    char prefix[64];
    uint64_t now = log_source.nanoseconds != NULL ? log_source.nanoseconds() : 0;
    unsigned cpu = log_source.cpu != NULL ? log_source.cpu() : 0;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (log_source.kernel < 0)
        snprintf(prefix, sizeof(prefix), "[boot] ");
    else
        snprintf(prefix, sizeof(prefix), "[k%d c%u %lu.%06lu] ", log_source.kernel, cpu,
                 (unsigned long)(now / 1000000000), (unsigned long)(now / 1000 % 1000000));
    write_line(prefix, text);
}

void log_event(const char *format, ...)
{
    char text[LOG_LINE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    write_line("@", text);
}
