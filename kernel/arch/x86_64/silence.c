/* The gauge of silence. See the header. */
#include "kernel/arch/x86_64/silence.h"

#include "kernel/arch/x86_64/traps.h"

__attribute__((noinline)) void silence_note(uint64_t now, uint64_t place)
{
    struct cpu *cpu = cpu_self();
    const struct trap_frame *frame = cpu->kernel_stack != 0 ? (const struct trap_frame *)cpu->kernel_stack - 1 : NULL;
    uint64_t counts = now - cpu->silent_since;

    if ((int64_t)counts < 0) /* the thread has come from a CPU whose counter is ahead */
        return;
    cpu->silence_longest = counts;
    cpu->silence = (struct silence){.counts = counts,
                                    .place = place,
                                    .vector = frame != NULL ? frame->vector : 0,
                                    .call = frame != NULL ? (uint64_t)(int32_t)frame->error
                                                          : 0}; /* without tasks/oom's count */
}

void silence_clear(void)
{
    for (uint32_t i = 0; i < cpu_total; i++)
        cpus[i]->silence_longest = 0;
}
