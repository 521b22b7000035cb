/* Signals as they are stored and sent: the information about a signal, the action of a process, and queues of pending
 * signals. The caller holds the lock that protects a queue. */
#ifndef TASKS_SIGNAL_QUEUE_QUEUE_H
#define TASKS_SIGNAL_QUEUE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/signal.h"
#include "kernel/lib/list.h"

#define SIGNAL_BIT(signal) (1ull << ((signal)-1))
#define SIGNAL_STOPPING (SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU))
#define SIGNAL_FAULTS                                                                                                  \
    (SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGTRAP))
#define SIGNAL_UNBLOCKABLE (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))
#define SIGNAL_REALTIME 32u    /* from this signal on, every instance that is sent is queued */
#define SIGNAL_QUEUE_MAX 1024u /* most signals that are queued at one thread or process */

/* Information about a sent signal: the source of siginfo_t. */
struct signal_info {
    uint32_t signal;
    int32_t code; /* SI_*, or the code of the fault or of the child's event */
    uint32_t pid; /* process id of the sender or child; a timer's id */
    uint32_t uid;
    uint64_t value; /* sigqueue's value, a fault's address, a child's status */
    uint64_t extra; /* of a child: user and system time in clock ticks, low and high half; of a stop signal taken from
                       its process: the process's count of continues; of a timer: the number of its setting */
};

struct signal_action {
    uint64_t handler; /* user address, SIG_DFL or SIG_IGN */
    uint64_t flags;   /* SA_* */
    uint64_t restorer;
    uint64_t mask;
};

#define SIGNAL_ACTIONS 64u

/* What a kernel that is not the home knows of a process's actions: tasks/signal/action_cache.h. */
struct signal_known {
    uint64_t stamp;                              /* of the home, when the first of them was asked for */
    uint64_t set;                                /* the signals whose actions are known */
    struct signal_action action[SIGNAL_ACTIONS]; /* by signal - 1 */
};

/* Pending signals: their set, and the queued infos. */
struct signal_queue {
    uint64_t pending; /* bit s - 1 is signal s */
    struct list infos;
    uint32_t count;
};

void signal_queue_init(struct signal_queue *queue);
/* Adds INFO for a receiver whose user is UID and may have at most LIMIT queued signals; a standard signal that is
 * already pending is left unchanged, unless INFO is a timer's. Standard signals of kill(2) and of the kernel count, but
 * are not limited. If the queue is full, or the limit reached, or there is
 * no memory, a standard signal, and one of kill(2), becomes pending without its information, as on Linux; other
 * real-time signals, a timer's and that of a fault, whose program could not handle it without, is refused: -EAGAIN. */
int signal_queue_add(struct signal_queue *queue, const struct signal_info *info, uint32_t uid, uint64_t limit);
/* Takes the next signal of SET, those of faults first, then the lowest. False: none. */
bool signal_queue_take(struct signal_queue *queue, uint64_t set, struct signal_info *info);
void signal_queue_remove(struct signal_queue *queue, uint64_t set);
/* Adds up to MAX infos in order to OUT, those that are missing last; returns how many there are. */
uint32_t signal_queue_list(const struct signal_queue *queue, struct signal_info *out, uint32_t max);

#endif
