/* The table of roles. See the header. The table is read without a lock: the entries of roles in use change only while
 * programs are quiesced. */
#include "tasks/role/role.h"

#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"

static struct role_table roles;

void role_init(void)
{
    memset(roles.kernel, ROLE_NONE, sizeof(roles.kernel));
    for (uint32_t k = 0; k < instance.kernels; k++)
        roles.kernel[k] = (uint8_t)k;
    roles.own = instance.kernel;
    roles.next = KERNELS_MAX;
}

uint32_t role_kernel(uint32_t role)
{
    return role < ROLES_MAX && roles.kernel[role] != ROLE_NONE ? roles.kernel[role] : KERNELS_MAX;
}

bool role_is_lost(uint32_t role)
{
    bool given_out = role < instance.kernels || (role >= KERNELS_MAX && role < roles.next);

    return given_out && roles.kernel[role] == ROLE_NONE;
}

bool role_lost(void)
{
    for (uint32_t i = 0; i < roles.next; i++) {
        if (role_is_lost(i))
            return true;
    }
    return false;
}

uint32_t role_own(void)
{
    return roles.own;
}

void role_hand_over(uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < ROLES_MAX; i++) {
        if (roles.kernel[i] == from)
            roles.kernel[i] = (uint8_t)to;
    }
}

uint32_t role_room(void)
{
    return ROLES_MAX - roles.next;
}

void role_renew(uint32_t kernel, struct role_table *out)
{
    *out = roles;
    out->started = kernel;
    out->own = kernel;
    if (roles.kernel[kernel] == kernel)
        return;
    assert(role_room() > 0);
    out->own = out->next++;
    out->kernel[out->own] = (uint8_t)kernel;
}

void role_learn(const struct role_table *table)
{
    /* Without a lock: the only entry that changes is that of a new role, which no id contains yet. */
    memcpy(roles.kernel, table->kernel, sizeof(roles.kernel));
    roles.next = table->next;
    if (table->started == instance.kernel)
        roles.own = table->own;
}
