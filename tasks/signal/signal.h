/* Signals. Those for one thread wait in the thread and move with it; those for a process wait at its home until a
 * thread of it, on any kernel, that does not block them takes them. Sending is one step and waits for nobody; delivery
 * is done by the thread itself on its way to user mode, which may ask the home what to do. tasks/signal/signal.md has
 * the protocol.
 *
 * Marks: [g] under group->lock. */
#ifndef TASKS_SIGNAL_SIGNAL_H
#define TASKS_SIGNAL_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/signal.h"
#include "kernel/lib/list.h"

struct thread;
struct group;

#define SIGNAL_BIT(signal) (1ull << ((signal)-1))
#define SIGNAL_STOPPING (SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU))
#define SIGNAL_FAULTS                                                                                                  \
    (SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGTRAP))
#define SIGNAL_UNBLOCKABLE (SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP))
#define SIGNAL_REALTIME 32u    /* from here on each one sent is queued */
#define SIGNAL_QUEUE_MAX 1024u /* queued at one thread or process */

/* Why a signal was sent; siginfo_t is made of it. */
struct signal_info {
    uint32_t signal;
    int32_t code; /* SI_*, or what the fault or child says */
    uint32_t pid; /* sender, or child */
    uint32_t uid;
    uint64_t value; /* sigqueue's value, a fault's address, a child's status */
    uint64_t extra; /* of a child: user and system time in clock ticks, low and high half; of a stop signal taken from
                       its process: how often that has been told to continue; of a timer: which setting of it */
};

struct signal_action {
    uint64_t handler; /* user address, SIG_DFL or SIG_IGN */
    uint64_t flags;   /* SA_* */
    uint64_t restorer;
    uint64_t mask;
};

/* Pending signals: which, and for each as many infos as were queued. */
struct signal_queue {
    uint64_t pending; /* bit s - 1 is signal s */
    struct list infos;
    uint32_t count;
};

void signal_queue_init(struct signal_queue *queue);
/* Adds INFO; a standard signal that is pending already stays as it is, unless INFO is a timer's. -EAGAIN: the queue is
 * full or memory is. */
int signal_queue_add(struct signal_queue *queue, const struct signal_info *info);
/* Takes the next signal of SET, those of faults first, then the lowest. False: none. */
bool signal_queue_take(struct signal_queue *queue, uint64_t set, struct signal_info *info);
void signal_queue_remove(struct signal_queue *queue, uint64_t set);
/* Adds up to MAX infos in order to OUT; returns how many there are. */
uint32_t signal_queue_list(const struct signal_queue *queue, struct signal_info *out, uint32_t max);

void signal_init(void);

/* What SIGNAL does when its action is SIG_DFL. */
enum signal_default { SIGNAL_TERMINATES, SIGNAL_IGNORED, SIGNAL_STOPS, SIGNAL_CONTINUES };
enum signal_default signal_default(uint32_t signal);

/* Sends INFO to process GROUP, whose home this kernel is. 0, also when it has ended and is not yet waited for; -EAGAIN:
 * no room. Any context without locks. */
int signal_send_group(struct group *group, const struct signal_info *info);
/* The same for a timer's signal; 1: it was not queued, for the process ignores it. */
int signal_send_timer(struct group *group, const struct signal_info *info);
/* Sends INFO to THREAD, which is present here; its group's lock is held. */
int signal_send_thread_locked(struct thread *thread, const struct signal_info *info);
/* What SIGNAL, sent to a thread, does to its process GROUP at once, whether it is blocked or not. Any context without
 * locks. */
void signal_sent_thread(struct group *group, uint32_t signal);
/* Says in the log that THREAD's process dies of INFO: what a program did wrong is seldom said by anybody else. */
void signal_log_death(const struct thread *thread, const struct signal_info *info);
/* A fault of the current thread: it takes the signal next, or its process dies if it blocks or ignores it. */
void signal_force(const struct signal_info *info);

/* The current thread blocks MASK from now on. It looks for signals that it does not block any more, and others of its
 * process for those that it may have been chosen for and blocks now. */
void signal_set_mask(struct thread *thread, uint64_t mask);
/* The current thread, or one that has not started, begins or begins again to run here: lets it look for signals if
 * there may be some. */
void signal_mask_changed(struct thread *thread);
/* Takes signals that are due for the current thread: runs their default actions, or makes its frame enter a handler. On
 * its way to user mode; waits for the home. */
void signal_deliver(struct thread *thread);
/* Takes a signal of SET that is pending for the current thread or its process, without acting. False: none. Waits for
 * the home. */
bool signal_take(struct thread *thread, uint64_t set, struct signal_info *info);
/* The signals that are pending for the current thread, and for its process, blocked or not. Waits for the home. */
uint64_t signal_pending(struct thread *thread);
/* The current thread awaits SET: until signal_watch_end one that comes ends its interruptible waits, blocked or not.
 * Returns which of SET are pending now, or what was then. Wait for the home. */
uint64_t signal_watch(struct thread *thread, uint64_t set);
uint64_t signal_watch_end(struct thread *thread);
/* rt_sigreturn(2): the current thread's frame and FPU state become what the signal frame on its stack says. */
void signal_return(struct thread *thread);

/* siginfo_t of INFO. */
void signal_info_to_user(const struct signal_info *info, uint8_t out[128]);

/* A thread that might have taken signals of the group no longer does: it blocks SIGNALS, leaves or dies. Others that do
 * not block them shall look. Any context without locks. */
void signal_retarget(struct group *group, uint64_t signals);

/* SIGNAL is ignored from now on: what threads here have of it is dropped. */
void signal_forget(struct group *group, uint64_t signals);
/* The same on every other kernel that the group, whose home this is, has threads on; it is done soon. */
void signal_forget_elsewhere(struct group *group, uint64_t signals);
/* The home's word to a member kernel: these signals may be pending for the group. */
void signal_hint(struct group *group, uint64_t signals);

/* Stop and continue, tasks/process/stop.c. Home, any context without locks: begins a stop, unless the process has been
 * told to continue since CONTINUES was its count of that (0: not known); or ends one, and drops stop signals of the
 * process. */
void stop_group(struct group *group, uint32_t signal, uint64_t continues);
void stop_continue(struct group *group);
/* The current thread stands still while its group is stopped; killable. */
void stop_stand(struct thread *thread);
/* Some thread of GROUP here has come to stand, has left or died, and the lock is held. True: all stand now, and
 * stop_answer is to be called once it is free. */
struct stop_request;
struct stop_standing {
    struct stop_request *request; /* of the home, or NULL: this is the home */
    uint32_t round;
};
bool stop_look_locked(struct group *group, struct stop_standing *standing);
void stop_answer(struct group *group, const struct stop_standing *standing);
void stop_init(void);

#endif
