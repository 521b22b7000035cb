/* The table of roles. See the header. Words are read without a lock: they change while nobody asks. */
#include "tasks/role.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
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

int role_renew(uint32_t kernel, struct role_table *out)
{
    if (roles.next == ROLES_MAX)
        return -ENOSPC;
    roles.kernel[roles.next] = (uint8_t)kernel;
    *out = roles;
    out->own = roles.next++;
    out->next = roles.next;
    return 0;
}

void role_learn(const struct role_table *table, uint32_t kernel)
{
    uint32_t own = roles.own;

    roles = *table;
    if (kernel != instance.kernel)
        roles.own = own;
}
