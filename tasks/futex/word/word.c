/* Futex words. See the header. Runs in a program's thread, on its own address space. */
#include "tasks/futex/word/word.h"

#include "kernel/arch/x86_64/traps.h"
#include "mm/area/backing.h"
#include "mm/user/shared.h"
#include "tasks/futex/word/object.h"
#include "tasks/role/role.h"

uint32_t futex_object_counters[FUTEX_OBJECT_COUNTERS];

_Static_assert(BACKING_CLASS_SHIFT >= FUTEX_NAME_SHIFT && BACKING_PAGES <= 1ull << FUTEX_NAME_SHIFT,
               "names of objects fit");

/* The kernel that has the queues of an anonymous object. That of one whose maker has died is kernel 0: every kernel
 * forgets a role while programs are quiesced, and so no thread waits, or is about to, at another one. */
static uint32_t owner_of(uint64_t backing)
{
    uint32_t maker = role_kernel(backing_role(backing));

    return maker < KERNELS_MAX ? maker : 0;
}

uint32_t futex_owner(const struct futex_key *key)
{
    uint64_t backing = key->space << FUTEX_NAME_SHIFT;

    if ((key->space & FUTEX_OBJECTS) == 0)
        return thread_current()->group->space->home;
    return backing_is_file(backing) ? backing_kernel(backing) : owner_of(backing);
}

__attribute__((noinline)) int futex_find_shared(struct space *space, uint64_t address, struct futex_place *place)
{
    uint64_t backing;
    int found = space_shared_object(space, address, &backing);

    if (found <= 0)
        return found;
    if (backing_is_anonymous(backing)) {
        place->key.space = backing >> BACKING_CLASS_SHIFT << (BACKING_CLASS_SHIFT - FUTEX_NAME_SHIFT) | FUTEX_OBJECTS;
        place->key.word = (backing & (BACKING_NUMBERS - 1)) * PAGE_SIZE;
        place->owner = owner_of(backing);
    } else {
        place->key.space = backing_whole(backing) >> FUTEX_NAME_SHIFT | FUTEX_OBJECTS;
        place->key.word = backing_page(backing) * PAGE_SIZE;
        place->owner = backing_kernel(backing);
    }
    place->key.word |= address & (PAGE_SIZE - 1);
    return found;
}

int futex_find(uint64_t address, bool shared, struct futex_place *place)
{
    int found = futex_find_private(address, place);

    if (found != 0 || !shared)
        return found;
    found = futex_find_shared(thread_current()->group->space, address, place);
    return found < 0 ? found : 0;
}

int futex_find_again(uint64_t address, const struct futex_place *place)
{
    struct futex_place now;
    int error = futex_find(address, true, &now);

    if (error != 0)
        return error;
    return futex_same_key(&now.key, &place->key) ? 0 : -EAGAIN;
}

int futex_swap(uint64_t address, uint32_t *expected, uint32_t value)
{
    uint32_t wanted = *expected;

    if (!user_range(address, sizeof(value)) || user_swap((uint32_t *)address, expected, value) != 0)
        return -EFAULT;
    return *expected == wanted ? 0 : -EAGAIN;
}
