/* Payloads of the thread and group messages (16 to 31 in msg/messages.def). */
#ifndef TASKS_WIRE_H
#define TASKS_WIRE_H

#include <stdint.h>

#include "kernel/arch/x86_64/traps.h"
#include "msg/message.h"

struct msg_group { /* GROUP_KILL, GROUP_FREE */
    uint32_t group;
    uint32_t pad;
};

struct msg_group_join { /* GROUP_JOIN */
    uint32_t group;
    uint32_t kernel; /* is about to host members */
};

struct msg_group_exit { /* GROUP_EXIT */
    uint32_t group;
    uint32_t status; /* as waitpid's */
};

struct msg_thread { /* THREAD_GONE, THREAD_EXIT, THREAD_NEW */
    uint32_t group;
    uint32_t thread;
    uint32_t status; /* THREAD_EXIT: as waitpid's */
    uint32_t pad;
};

/* MIGRATE; the FPU state area follows. */
struct msg_migrate {
    uint32_t group;
    uint32_t home;
    uint32_t thread;
    uint32_t fpu_size; /* bytes that follow */
    uint64_t visited;
    uint64_t members; /* as the sender knows them */
    uint64_t clock;   /* nanoseconds: what the thread may have seen */
    uint64_t moves;
    uint64_t fs_base, gs_base;
    uint64_t signal_mask;
    uint64_t signal_pending;
    uint64_t clear_child_tid;
    uint64_t robust_list;
    char name[16];
    struct trap_frame frame;
};

_Static_assert(sizeof(struct msg_migrate) == 16 + 10 * 8 + 16 + 22 * 8, "wire format");
_Static_assert(sizeof(struct msg_thread) <= MSG_SHORT, "a notice of one slot");

#endif
