/* Futex words. See the header. Runs in a program's thread, on its own address space. */
#include "tasks/futex/word/word.h"

#include "kernel/arch/x86_64/traps.h"
#include "mm/area/backing.h"
#include "mm/user/shared.h"
#include "tasks/role/role.h"

/* What is left of an object's name without its low bits, which are the page and flags. The hash of keys
 * (tasks/futex/internal.h) uses the low bits of the rest. */
#define NAME_SHIFT BACKING_KERNEL_SHIFT

_Static_assert(BACKING_CLASS_SHIFT >= NAME_SHIFT && BACKING_PAGES <= 1ull << NAME_SHIFT, "names of objects fit");

uint32_t futex_owner(const struct futex_key *key)
{
    uint64_t backing = key->space << NAME_SHIFT;

    if ((key->space & FUTEX_OBJECTS) == 0)
        return thread_current()->group->space->home;
    return backing_is_file(backing) ? backing_kernel(backing) : role_kernel(backing_role(backing));
}

static __attribute__((noinline)) int find_shared(struct space *space, uint64_t address, struct futex_place *place)
{
    uint64_t backing;
    int found = space_shared_object(space, address, &backing);

    if (found <= 0)
        return found;
    if (backing_is_anonymous(backing)) {
        place->key.space = backing >> BACKING_CLASS_SHIFT << (BACKING_CLASS_SHIFT - NAME_SHIFT) | FUTEX_OBJECTS;
        place->key.word = (backing & (BACKING_NUMBERS - 1)) * PAGE_SIZE;
        place->owner = role_kernel(backing_role(backing));
    } else {
        place->key.space = backing_whole(backing) >> NAME_SHIFT | FUTEX_OBJECTS;
        place->key.word = backing_page(backing) * PAGE_SIZE;
        place->owner = backing_kernel(backing);
    }
    place->key.word |= address & (PAGE_SIZE - 1);
    return place->owner < KERNELS_MAX ? found : -EFAULT;
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
