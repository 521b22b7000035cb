/* The cases of test-signals that stand in files of their own, and what they share; the table is in test-signals.c. */
#ifndef USERLAND_TESTS_SIGNAL_H
#define USERLAND_TESTS_SIGNAL_H

#include <signal.h>
#include <stdatomic.h>

/* Sets an action with all signals of MASK (NULL: none) masked meanwhile. */
void signal_handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags, const sigset_t *mask);

/* A handler that counts in signal_count and keeps what it was told in signal_last. */
void signal_counts(int signal, siginfo_t *info, void *context);

extern atomic_int signal_count;
extern siginfo_t signal_last;

/* The set of one signal. */
sigset_t signal_set(int signal);

/* signal_info.c: what handlers are told. */
void case_info_kill(void);
void case_info_queue(void);
void case_info_thread(void);
void case_info_child(void);
void case_fault_segv(void);
void case_fault_bus(void);
void case_fault_others(void);
void case_context(void);
void case_forced(void);

/* signal_frame.c: the frame of a handler. */
void case_altstack(void);
void case_altstack_overflow(void);
void case_altstack_disarm(void);
void case_altstack_errors(void);
void case_altstack_thread(void);
void case_longjmp(void);
void case_migrate(void);
void case_registers_call(void);
void case_registers_code(void);
void case_mask_restored(void);

/* signal_wait.c: waits that signals end or do not end. */
void case_restart_read(void);
void case_interrupt_read(void);
void case_restart_wait(void);
void case_interrupt_wait(void);
void case_interrupt_sleep(void);
void case_restart_futex(void);
void case_interrupt_pause(void);
void case_suspend(void);
void case_timedwait(void);
void case_timedwait_waits(void);
void case_timedwait_interrupted(void);

/* signal_group.c: signals to threads and processes of several kernels. */
void case_thread_masks(void);
void case_thread_kill(void);
void case_group_any(void);
void case_group_later(void);
void case_storm(void);
void case_stop_group(void);
void case_stop_handled(void);
void case_stop_cancels(void);
void case_child_stops(void);
void case_child_ignored(void);
void case_kill_groups(void);
void case_kill_errors(void);
void case_sessions(void);
void case_group_errors(void);
void case_alarm(void);
void case_timer(void);

/* signal_lost.c: what went wrong once. */
void case_poll_pending(void);
void case_stop_rest(void);
void case_stop_overtaken(void);
void case_stopped_tkill(void);
void case_chosen_masks(void);
void case_handler_nowhere(void);
void case_altstack_full(void);
void case_frame_garbage(void);

#endif
