/* Roles: which kernel is responsible for an id. The upper part of a process or thread id is the role in which it was
 * born, and that of an open file's id the role in which it was made. At first kernel k has role k. When a kernel is
 * stopped, all its roles go to its successor; when it is started again, it gets a role that no kernel has had, so ids
 * are never given out twice. All kernels know all roles; they change while programs are quiesced
 * (tasks/handover/stop_kernel.md). */
#ifndef TASKS_ROLE_ROLE_H
#define TASKS_ROLE_ROLE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"

#define ROLES_MAX 1024u     /* kernels of the plan, and one for each start after a stop */
#define ROLE_NONE 0xffu     /* in a table: no kernel has the role */
#define ROLE_FILE_SHIFT 40u /* a file's id is its role << 40 | a number */

struct role_table {
    uint8_t kernel[ROLES_MAX]; /* the kernel that has each role, or ROLE_NONE */
    uint32_t own;              /* the role with which the receiving kernel makes ids */
    uint32_t next;             /* the first role that no kernel has had */
    uint32_t started;          /* the kernel that has started */
    uint32_t pad;
};

_Static_assert(KERNELS_MAX < ROLE_NONE, "a byte names a kernel");

/* Kernel k has role k. Once, before ids are made. */
void role_init(void);
/* The kernel that has ROLE, or KERNELS_MAX. */
uint32_t role_kernel(uint32_t role);
/* Whether ROLE was given out, and the kernel has died that had it. So no thread has an id with ROLE any more: each
 * process with such a thread had a part there, also if that kernel had taken over ROLE, and has ended. */
bool role_is_lost(uint32_t role);
/* Whether a role was given out that no kernel has any more: a kernel has died since the machine started. */
bool role_lost(void);
/* The role that this kernel makes ids with. */
uint32_t role_own(void);
/* Gives all roles of kernel FROM to TO. Called while programs are quiesced. */
void role_hand_over(uint32_t from, uint32_t to);
/* The number of roles that no kernel has had yet. */
uint32_t role_room(void);
/* KERNEL has started: it gets a new role if its first one was handed over. *OUT: the table for KERNEL. Called on kernel
 * 0. */
void role_renew(uint32_t kernel, struct role_table *out);
/* Installs the table that role_renew has made. */
void role_learn(const struct role_table *table);

#endif
