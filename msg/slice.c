/* Slices of long operations, and the report of the longest silences. See the header. */
#include "msg/slice.h"

#include "boot/options/control.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "kernel/lib/symbols.h"
#include "kernel/wait/completion.h"
#include "msg/channel_internal.h"
#include "msg/idle.h"

#define LINE_MAX 256 /* longer than any line */

bool slice_pause(void)
{
    if (spin_held(&msg_rx_lock) || wait_ops.breathe == NULL)
        return false;
    silence_end((uint64_t)__builtin_return_address(0));
    if (idle_poll_look())
        msg_poll();
    wait_ops.breathe();
    silence_begin();
    return wait_ops.ended(WAIT_KILLABLE);
}

static void set_silence(const char *value)
{
    if (strcmp(value, "clear") != 0)
        return;
    silence_clear();
    for (uint32_t i = 0; i < MSG_ROWS; i++) {
        if (msg_rows[i].times != NULL)
            msg_rows[i].times->handling.most = 0;
    }
}

void msg_slice_init(void)
{
    static struct option silence = {.name = "silence", .set = set_silence};

    option_add(&silence);
}

static int format_cpu(char *text, size_t room, const struct cpu *cpu)
{
    uint64_t distance = 0, counts = cpu->silence_longest;
    const char *name = cpu->silence.place != 0 ? symbol_find(cpu->silence.place, &distance) : "return to user mode";

    return snprintf(text, room,
                    "kernel %u cpu %u silence %lu counts %lu ns until %s+0x%lx entered by vector %lu call %ld\n",
                    instance.kernel, cpu->index, (unsigned long)counts, (unsigned long)clock_counts_to_ns(counts),
                    name != NULL ? name : "?", (unsigned long)distance, (unsigned long)cpu->silence.vector,
                    (long)cpu->silence.call);
}

/* The handler that took longest. */
static int format_handler(char *text, size_t room)
{
    uint64_t most = 0;
    uint32_t row = 0;

    for (uint32_t i = 0; i < MSG_ROWS; i++) {
        if (msg_rows[i].times != NULL && msg_rows[i].times->handling.most > most) {
            most = msg_rows[i].times->handling.most;
            row = i;
        }
    }
    return snprintf(text, room, "kernel %u handler silence %lu counts %lu ns in %s%s\n", instance.kernel,
                    (unsigned long)(most << MSG_TICK_SHIFT), (unsigned long)msg_ticks_to_ns(most),
                    most != 0 ? msg_type_name(row % MSG_TYPES) : "none", row >= MSG_TYPES ? ".reply" : "");
}

size_t msg_silence_report(char *text, size_t size, uint64_t *cursor)
{
    size_t length = 0;

    for (; *cursor < cpu_total; (*cursor)++) {
        if (size - length < LINE_MAX)
            return length; /* the next part continues here */
        length += (size_t)format_cpu(text + length, LINE_MAX, cpus[*cursor]);
    }
    if (size - length < LINE_MAX)
        return length;
    length += (size_t)format_handler(text + length, LINE_MAX);
    *cursor = 0;
    return length;
}
