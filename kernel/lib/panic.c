/* Panic and backtrace. See the header. */
#include "kernel/lib/panic.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernel/arch/x86_64/instructions.h"
#include "kernel/arch/x86_64/layout.h"
#include "kernel/lib/log.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/symbols.h"

#define FRAMES_MAX 32

extern const uint8_t image_start[], image_text_end[];

void (*panic_stop_others)(void);

const char *symbol_find(uint64_t address, uint64_t *distance)
{
    uint64_t offset = address - (uint64_t)image_start;
    uint32_t low = 0, high = symbol_count;

    if (address < (uint64_t)image_start || address >= (uint64_t)image_text_end)
        return NULL;
    while (low < high) { /* the first symbol behind the address */
        uint32_t middle = (low + high) / 2;

        if (symbol_table[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    *distance = offset - symbol_table[low - 1].offset;
    return symbol_names + symbol_table[low - 1].name;
}

static void print_address(uint64_t address)
{
    char line[160];
    uint64_t distance = 0;
    const char *name = symbol_find(address, &distance);

    snprintf(line, sizeof(line), "    %lx %s+0x%lx\n", (unsigned long)address, name != NULL ? name : "?",
             (unsigned long)distance);
    log_raw(line);
}

void panic_backtrace(uint64_t frame_pointer, uint64_t rip)
{
    if (rip != 0)
        print_address(rip);
    for (int i = 0; i < FRAMES_MAX; i++) {
        const uint64_t *frame = (const uint64_t *)frame_pointer;

        /* A frame lies in the kernel's half, aligned, and the next one is above it on the same stack. */
        if (frame_pointer < DIRECT_BASE || (frame_pointer & 7) != 0 || frame[1] == 0)
            break;
        print_address(frame[1] - 1);
        if (frame[0] <= frame_pointer || frame[0] - frame_pointer > STACK_SIZE)
            break;
        frame_pointer = frame[0];
    }
}

void panic_at(uint64_t frame_pointer, uint64_t rip, const char *text)
{
    static volatile bool panicking; /* a panic inside a panic prints its text and no more */
    char line[LOG_LINE_MAX + 96];
    bool again = __atomic_exchange_n(&panicking, true, __ATOMIC_SEQ_CST);

    interrupts_off();
    if (!again && panic_stop_others != NULL)
        panic_stop_others();
    snprintf(line, sizeof(line), "\n@panic\npanic on kernel %d cpu %u: %s\n", log_source.kernel,
             log_source.cpu != NULL ? log_source.cpu() : 0, text);
    log_raw(line);
    if (!again)
        panic_backtrace(frame_pointer, rip);
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
