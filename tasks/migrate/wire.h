/* Payloads of GROUP_JOIN and MIGRATE; tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_MIGRATE_WIRE_H
#define TASKS_MIGRATE_WIRE_H

#include <stdint.h>

struct msg_group_join { /* GROUP_JOIN: the sender is about to host threads of the group */
    uint32_t group;
    uint32_t pad;
};

struct msg_group_joined { /* the reply to GROUP_JOIN */
    uint64_t members;
    uint64_t signal_hint;
    uint32_t stop_round;
    uint32_t stopped;
    uint64_t mode; /* of the address space */
};

/* MIGRATE. It is followed by STATE bytes: the context, the register frame, and of the FPU state the part of FXSAVE and
 * the COMPONENTS that the thread uses; then by SIGNALS structs signal_info and DONATIONS structs pi_donation_update. */
struct msg_migrate {
    uint32_t group;
    uint32_t home;
    uint32_t thread;
    uint32_t state;
    uint64_t visited;
    uint64_t clock; /* ns: the sender's clock; the thread has seen no later time */
    uint64_t signal_hint;
    uint64_t components; /* bits of XSTATE_BV; 0 without XSAVE */
    uint32_t signals;
    uint32_t donations;
};

_Static_assert(sizeof(struct msg_migrate) == 56, "wire format");

#endif
