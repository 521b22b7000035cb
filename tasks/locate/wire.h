/* Payloads of the operations on threads; tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_LOCATE_WIRE_H
#define TASKS_LOCATE_WIRE_H

#include <stdint.h>

#include "kernel/abi/limits.h"
#include "msg/message.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/sched/policy.h"
#include "tasks/signal/queue/queue.h"

struct msg_thread_call { /* THREAD_..., from THREAD_SIGNAL to THREAD_NUMA_GROUP */
    uint32_t thread;
    uint32_t type; /* enum msg_type: the type of the message */
    union {        /* selected by TYPE; comments name the type without THREAD_ */
        struct {
            struct signal_info info;
            uint32_t group; /* group that the thread must be in, 0: any */
        };                  /* SIGNAL */
        struct {
            uint64_t mask[CPUS_MAX / 64]; /* ANDed with the machine's CPUs */
            uint32_t user;                /* the caller's effective user */
        } affinity;                       /* SET_AFFINITY */
        struct {
            int32_t nice;
            uint32_t user;  /* the caller's effective user */
            uint64_t limit; /* RLIMIT_NICE, as in struct policy_wish */
        } nice;             /* SET_NICE */
        struct {
            uint32_t user;                /* the caller's effective user */
            uint32_t group;               /* NUMA_GROUP_ASK: only ask */
        } numa;                           /* NUMA_GROUP */
        struct policy_wish policy;        /* SET_POLICY */
        struct pi_donation_update update; /* DONATE */
    };
};

struct msg_thread_result {
    int64_t value; /* or a negative errno; THREAD_ELSEWHERE: KERNEL is the next one to ask */
    union {
        uint64_t mask[CPUS_MAX / 64]; /* GET_AFFINITY */
        uint64_t events;              /* SET_AFFINITY, SETTLED: count of the group's moves on that kernel */
        struct policy_facts policy;   /* GET_POLICY */
        uint64_t robust_list;         /* ROBUST_LIST */
        struct pi_link link;          /* DONATE */
    };
    uint32_t kernel;
    uint32_t group; /* id of its process */
};

_Static_assert(sizeof(struct msg_thread_call) == MSG_SHORT && sizeof(struct msg_thread_result) == MSG_SHORT,
               "one slot");

#endif
