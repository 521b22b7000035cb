/* Backtraces. See the header. */
#include "kernel/lib/backtrace.h"

#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/lib/log.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/symbols.h"

#define FRAMES_MAX 32

extern const uint8_t image_start[], image_text_end[];

const char *symbol_find(uint64_t address, uint64_t *distance)
{
    uint64_t offset = address - (uint64_t)image_start;
    uint32_t low = 0, high = symbol_count;

    if (address < (uint64_t)image_start || address >= (uint64_t)image_text_end)
        return NULL;
    while (low < high) { /* finds the first symbol behind the address */
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

/* Calls EACH with RIP, unless it is 0, and with each return address of the call chain that starts at FRAME_POINTER. */
static void walk(uint64_t frame_pointer, uint64_t rip, void (*each)(void *context, uint64_t address), void *context)
{
    if (rip != 0)
        each(context, rip);
    for (int i = 0; i < FRAMES_MAX; i++) {
        const uint64_t *frame = (const uint64_t *)frame_pointer;

        /* A valid frame pointer is aligned and in the kernel's half, and the caller's frame is at a higher address. */
        if (frame_pointer < DIRECT_BASE || (frame_pointer & 7) != 0 || frame[1] == 0)
            break;
        each(context, frame[1] - 1);
        if (frame[0] <= frame_pointer || frame[0] - frame_pointer > STACK_SIZE)
            break;
        frame_pointer = frame[0];
    }
}

static void print_address(void *unused, uint64_t address)
{
    char line[160];
    uint64_t distance = 0;
    const char *name = symbol_find(address, &distance);

    (void)unused;
    snprintf(line, sizeof(line), "    %lx %s+0x%lx\n", (unsigned long)address, name != NULL ? name : "?",
             (unsigned long)distance);
    log_raw(line);
}

void backtrace_print(uint64_t frame_pointer, uint64_t rip)
{
    walk(frame_pointer, rip, print_address, NULL);
}

struct line {
    char *text;
    size_t size, length;
};

static void add_name(void *context, uint64_t address)
{
    struct line *line = context;
    uint64_t distance;
    const char *name = symbol_find(address, &distance);

    if (line->length < line->size)
        line->length += (size_t)snprintf(line->text + line->length, line->size - line->length, "%s%s",
                                         line->length > 0 ? " < " : "", name != NULL ? name : "?");
}

void backtrace_line(uint64_t frame_pointer, uint64_t rip, char *text, size_t size)
{
    struct line line = {.text = text, .size = size};

    text[0] = '\0';
    walk(frame_pointer, rip, add_name, &line);
}
