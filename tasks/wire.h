/* Payloads of the thread and group messages (16 to 31 in msg/messages.def). */
#ifndef TASKS_WIRE_H
#define TASKS_WIRE_H

#include <stdint.h>

#include "kernel/arch/x86_64/traps.h"
#include "msg/message.h"
#include "tasks/thread.h"

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

struct msg_watch { /* WATCH */
    uint64_t id;
    uint64_t seen; /* events */
    uint32_t kind; /* enum watch_kind */
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
    struct thread_context context;
    struct trap_frame frame;
};

_Static_assert(sizeof(struct msg_migrate) == 16 + 3 * 8 + sizeof(struct thread_context) + 22 * 8, "wire format");
_Static_assert(sizeof(struct msg_thread) <= MSG_SHORT, "a notice of one slot");

#endif
