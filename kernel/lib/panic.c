/* Panic. See the header. */
#include "kernel/lib/panic.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/lib/backtrace.h"
#include "kernel/lib/log.h"
#include "kernel/lib/printf.h"

bool (*panic_stop_others)(void);
void (*panic_over)(void);

void panic_at(uint64_t frame_pointer, uint64_t rip, const char *text)
{
    static volatile unsigned panicking; /* 1 + the number of the CPU that panicked first */
    static volatile bool alone;         /* the other kernels go on */
    char line[LOG_LINE_MAX + 96];
    unsigned nobody = 0, own = 1 + (log_source.cpu != NULL ? log_source.cpu() : 0);
    bool again = !__atomic_compare_exchange_n(&panicking, &nobody, own, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);

    interrupts_off();
    while (again && nobody != own) /* the first stops it by an NMI, too */
        cpu_stop();
    /* a panic inside a panic prints only its text */
    if (!again && panic_stop_others != NULL)
        alone = panic_stop_others();
    snprintf(line, sizeof(line), "\n%spanic on kernel %d cpu %u: %s\n", alone ? "@died " : "@panic\n",
             log_source.kernel, own - 1, text);
    log_raw(line);
    if (!again)
        backtrace_print(frame_pointer, rip);
    if (panic_over != NULL)
        panic_over();
    if (!alone)
        log_raw("@panic-end\n");
    for (;;)
        cpu_stop();
}

void panic(const char *format, ...)
{
    char text[LOG_LINE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    panic_at(read_frame_pointer(), 0, text);
}
