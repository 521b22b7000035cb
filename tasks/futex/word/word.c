/* Futex words. See the header. Runs in a program's thread, on its own address space. */
#include "tasks/futex/word/word.h"

#include "kernel/arch/x86_64/traps.h"
#include "mm/frame/reference.h"
#include "mm/user/shared.h"

static __attribute__((noinline)) int find_shared(struct space *space, uint64_t address, struct futex_place *place)
{
    uint64_t frame;
    int found = space_shared_frame(space, address, &frame);

    if (found > 0)
        *place = (struct futex_place){.key = {.space = FUTEX_FRAMES, .word = frame | (address & (PAGE_SIZE - 1))},
                                      .owner = frame_owner(frame)};
    return found;
}

int futex_find(uint64_t address, bool shared, struct futex_place *place)
{
    int found = futex_find_private(address, place);

    if (found != 0 || !shared)
        return found;
    found = find_shared(thread_current()->group->space, address, place);
    return found < 0 ? found : 0;
}

int futex_swap(uint64_t address, uint32_t *expected, uint32_t value)
{
    uint32_t wanted = *expected;

    if (!user_range(address, sizeof(value)) || user_swap((uint32_t *)address, expected, value) != 0)
        return -EFAULT;
    return *expected == wanted ? 0 : -EAGAIN;
}
