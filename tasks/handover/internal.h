/* Payloads of HANDOVER (88 in msg/messages.def), between tasks/handover/handover.c and tasks/handover/receive.c. */
#ifndef TASKS_HANDOVER_INTERNAL_H
#define TASKS_HANDOVER_INTERNAL_H

#include "mm/evacuate/evacuate.h"
#include "mm/file/hold.h"
#include "tasks/process/process.h"
#include "tasks/timer/process/process_timer.h"

enum handover_part {
    PART_GROUP = 1, /* struct handover_group */
    PART_AREAS,     /* COUNT struct msg_space_area, in ascending order: the areas of the group's space */
    PART_PROCESS,   /* struct handover_process */
    PART_CHILDREN,  /* COUNT struct handover_child */
    PART_SIGNALS,   /* COUNT struct signal_info: signals pending for the process */
    PART_PLACES,    /* COUNT struct handover_place: threads that the receiver has to find from now on */
    PART_MEMBER,    /* to a group's home: struct handover_member: the sender is no longer a member of the group */
    PART_SHADOWS,  /* to all kernels: COUNT struct handover_place: where to look for threads instead of at the sender */
    PART_POLICIES, /* COUNT struct handover_policy: the memory policies of the group's space */
    PART_HOLDS,    /* COUNT struct handover_hold: file objects of the staged spaces; sent after all areas */
    PART_TIMERS,   /* COUNT struct timer_state: timers of the process */
    PART_ROBUST,   /* COUNT struct handover_robust: robust lists of the process's threads */
    PART_MARKS     /* COUNT struct sharers_range: the directory of the group's space (mm/directory/directory.md) */
};

struct msg_handover {
    uint32_t part; /* enum handover_part */
    uint32_t group;
    uint32_t count;
    uint32_t pad;
};

struct handover_group {
    struct space_facts space;
    uint64_t signal_hint;
    uint64_t gone_user_ns, gone_system_ns;
    struct account account; /* counters of the threads at the sender */
    uint32_t home;          /* the new home */
    uint32_t stop_round;
    uint32_t stopped;
    uint32_t exiting;
    uint32_t has_space; /* 0: the group has ended, and only its process is left */
    uint32_t pad;
};

struct handover_process {
    uint32_t parent, process_group, session;
    uint32_t first, executed, zombie;
    uint32_t exit_signal, live, status, leader_status, stop_signal;
    uint32_t umask;
    uint32_t timer_next;
    uint32_t pinned; /* its end goes on when no kernel of PINS_AWAY has pins */
    uint64_t pins_away;
    uint64_t continues;
    uint64_t environment, environment_size, arguments_size;
    uint64_t children_user_ns, children_system_ns, start_ns, program_ns;
    struct account_used children_used;
    struct account_io children_io;
    uint64_t peak;
    uint64_t alarm_at, alarm_interval; /* clock_now ns; 0: none */
    struct signal_action actions[SIGNALS];
    struct credentials credentials;
    struct process_limit limits[PROCESS_LIMITS];
    uint32_t attributes[PROCESS_ATTRIBUTES];
    char name[THREAD_NAME_MAX];
};

struct handover_child {
    uint64_t user_ns, system_ns;
    uint32_t id, group, exit_signal, status, code, stop_round, giver, pad;
};

struct handover_place {
    uint32_t tid, group, went_to, pad;
};

struct handover_robust {
    uint64_t list; /* user address */
    uint32_t thread, pad;
};

struct handover_hold { /* the count of references granted to the sender for a file object: mm/file/hold.h */
    uint64_t backing, granted;
    struct file_stamps stamps;
};

struct handover_policy {
    uint64_t number; /* mm/mempolicy/mempolicy.h */
    struct policy policy;
};

struct handover_member {
    uint64_t gone_user_ns, gone_system_ns;
    struct account account;
    uint32_t joins; /* the kernel that becomes a member (the successor), or UINT32_MAX */
    uint32_t pad;
};

#endif
