/* The tests of test-signals that stand in files of their own, and what they share; the table is in test-signals.c. */
#ifndef TESTS_GUEST_SIGNAL_H
#define TESTS_GUEST_SIGNAL_H

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
void signal_test_info_kill(void);
void signal_test_info_queue(void);
void signal_test_info_thread(void);
void signal_test_info_child(void);
void signal_test_fault_segv(void);
void signal_test_fault_bus(void);
void signal_test_fault_others(void);
void signal_test_context(void);
void signal_test_forced(void);

/* signal_frame.c: the frame of a handler. */
void signal_test_altstack(void);
void signal_test_altstack_overflow(void);
void signal_test_altstack_disarm(void);
void signal_test_altstack_errors(void);
void signal_test_altstack_thread(void);
void signal_test_longjmp(void);
void signal_test_migrate(void);
void signal_test_registers_call(void);
void signal_test_registers_code(void);
void signal_test_mask_restored(void);

/* signal_wait.c: waits that signals end or do not end. */
void signal_test_restart_read(void);
void signal_test_interrupt_read(void);
void signal_test_restart_wait(void);
void signal_test_interrupt_wait(void);
void signal_test_interrupt_sleep(void);
void signal_test_restart_futex(void);
void signal_test_interrupt_pause(void);
void signal_test_suspend(void);
void signal_test_timedwait(void);
void signal_test_timedwait_waits(void);
void signal_test_timedwait_interrupted(void);

/* signal_group.c: signals to threads and processes of several kernels. */
void signal_test_actions_elsewhere(void);
void signal_test_thread_masks(void);
void signal_test_thread_kill(void);
void signal_test_group_any(void);
void signal_test_group_later(void);
void signal_test_storm(void);
void signal_test_stop_group(void);
void signal_test_stop_handled(void);
void signal_test_stop_cancels(void);
void signal_test_child_stops(void);
void signal_test_child_ignored(void);
void signal_test_kill_groups(void);
void signal_test_kill_many(void);
void signal_test_kill_errors(void);
void signal_test_sessions(void);
void signal_test_group_errors(void);
void signal_test_alarm(void);
void signal_test_timer(void);

/* signal_lost.c: what went wrong once. */
void signal_test_poll_pending(void);
void signal_test_stop_rest(void);
void signal_test_stop_overtaken(void);
void signal_test_stopped_tkill(void);
void signal_test_chosen_masks(void);
void signal_test_handler_nowhere(void);
void signal_test_altstack_full(void);
void signal_test_frame_garbage(void);

#endif
