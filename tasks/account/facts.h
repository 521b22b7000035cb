/* Data about processes and threads of any kernel for observers such as /proc: payloads of the messages 74 to 76 of
 * msg/messages.def, and how to ask. Each kernel replies for its own part. A result collected from several kernels is
 * not a snapshot of one moment, but it contains each process or thread that lives throughout exactly once. */
#ifndef TASKS_ACCOUNT_FACTS_H
#define TASKS_ACCOUNT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "mm/space/events.h"
#include "tasks/process/process.h"

struct msg_process_list { /* PROCESS_LIST, PROCESS_FACTS */
    uint32_t id;          /* PROCESS_LIST: ids from this one on */
    uint32_t pad;
};

struct msg_process_listed { /* the reply to PROCESS_LIST; uint32_t ids follow, ascending */
    uint32_t next;          /* the first id of the next part; 0: this was the last part */
    uint32_t count;
};

struct msg_member_facts { /* MEMBER_FACTS */
    uint64_t space;       /* id of its address space, or 0 */
    uint32_t group;
    uint32_t thread; /* threads from this id on; THREADS_NONE: none */
    uint32_t one;    /* 1: only this thread, and nothing else */
    uint32_t pad;
};
#define THREADS_NONE UINT32_MAX

enum process_condition { PROCESS_LIVES, PROCESS_ENDS, PROCESS_ENDED };

struct process_facts { /* the part of the home */
    uint32_t id, parent, group, session;
    uint32_t condition; /* enum process_condition; ENDED: a zombie */
    uint32_t threads;   /* on all kernels */
    uint32_t exit_signal;
    uint32_t status; /* in the format of waitpid(2), once it has ended */
    uint32_t home;   /* kernel */
    uint32_t space_home;
    uint64_t space;                                         /* id of its address space; 0: none */
    uint64_t size, locked;                                  /* bytes of its areas at its home, and of those locked */
    uint64_t members;                                       /* kernels that its threads are, or were, on */
    uint64_t user_ns, system_ns;                            /* of threads that ended at the home; ENDED: of all */
    uint64_t children_user_ns, children_system_ns;          /* of children waited for */
    struct account_use children_use;                        /* the same */
    struct account account;                                 /* ENDED: of all its threads */
    uint64_t peak;                                          /* pages: peak of memory freed by exec or its end */
    uint64_t start_ns, program_ns;                          /* start of the process; start of its program (exec) */
    uint64_t pending, ignored, caught;                      /* signals: bit s - 1 is signal s */
    uint64_t environment, environment_size, arguments_size; /* user address; sizes in bytes */
    uint32_t umask;
    uint32_t pad;
    uint32_t ids[8];            /* the first ids of struct credentials, of the first thread */
    char name[THREAD_NAME_MAX]; /* of the program */
};

struct member_facts { /* the part of a process on one kernel; COUNT structs thread_facts follow, by ascending id */
    uint64_t user_ns, system_ns; /* of the threads that are, or ended, on that kernel */
    struct account account;      /* the same */
    uint64_t peak;               /* pages: the maximum on that kernel */
    uint64_t resident;           /* pages */
    uint64_t huge;               /* large pages that it maps */
    struct space_stats stats;
    uint16_t seen_last[NODES_MAX]; /* as seen_last, at the home; 0 elsewhere */
    uint32_t present, shadows;     /* threads */
    uint32_t next;                 /* the first id of the next part; 0: this was the last part */
    uint32_t count;                /* threads that follow */
};

struct thread_facts {
    uint32_t tid;
    uint32_t presence; /* enum thread_presence; the following fields are valid and current if it is PRESENT */
    uint32_t kernel;   /* the kernel that replies; PRESENT: the thread's kernel */
    uint32_t went_to;  /* unless PRESENT */
    uint32_t cpu;      /* index among the machine's CPUs, as in the plan */
    uint32_t state;    /* 'R', 'S', 'D', 'T', 'Z', 'X' as in proc(5) */
    int32_t nice;
    uint32_t policy, priority; /* POLICY_* without flags */
    int32_t runs_as; /* as in proc(5): 20 for nice 0, below 0 for real-time priorities; includes donated priority */
    uint64_t moves;
    uint64_t visited; /* kernels with a replica of it */
    uint64_t user_ns, system_ns, start_ns;
    struct account account;    /* on KERNEL: survey_account sums over all kernels */
    uint64_t blocked, pending; /* signals */
    uint64_t affinity[CPUS_MAX / 64];
    char name[THREAD_NAME_MAX];
    char waits[32]; /* the reason of its wait, or "" */
};

void facts_init(void);

/* Counters of this kernel. */
struct task_counts {
    uint64_t groups;
    uint64_t processes;        /* groups at home here, including those not yet waited for */
    uint64_t present, shadows; /* threads of programs; LEAVING threads count as shadows */
};
void task_counts(struct task_counts *out);

/* process_ids lists the ids of all processes but process 1, including those not yet waited for, in ascending order.
 * -ENOMEM. Tasks only; waits for all kernels. */
struct id_list {
    uint32_t *ids; /* heap */
    uint32_t count, room;
};
int process_ids(struct id_list *list);
void id_list_free(struct id_list *list);

/* Data about process ID from its home. -ESRCH, -ENOMEM. Tasks only; waits for the home. */
int process_facts_of(uint32_t id, struct process_facts *out);

/* Data about a process, combined from all kernels that host it. */
struct process_survey {
    struct process_facts process;
    uint64_t user_ns, system_ns, resident; /* of all kernels */
    struct account account;                /* the same; also valid for a process that has ended */
    uint64_t peak;                         /* pages: the sum of the kernels' maxima */
    struct space_stats stats;
    kernel_set asked;
    struct member_facts members[KERNELS_MAX]; /* of the kernels in ASKED */
    struct thread_facts *threads;             /* ascending by id, each once */
    uint32_t count, room;
};
/* Surveys process ID; survey_free frees the result. With THREADS it includes all threads of the process, otherwise only
 * the first thread if that lives. NULL: *ERROR is -ESRCH or -ENOMEM. Tasks only; waits for the kernels that host it. */
struct process_survey *survey_process(uint32_t id, bool threads, int *error);
void survey_free(struct process_survey *survey);
/* Finds thread TID of PROCESS on any kernel. False: there is none. Tasks only; waits for the kernels that it asks. */
bool survey_thread(const struct process_facts *process, uint32_t tid, struct thread_facts *out);
/* The counters of THREAD of the process GROUP, summed over all kernels that it has been on. Tasks only; waits for these
 * kernels. */
void survey_account(uint32_t group, const struct thread_facts *thread, struct account *out);

#endif
