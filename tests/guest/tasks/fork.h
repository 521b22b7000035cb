/* The tests of test-fork that stand in files of their own; its table is in test-fork.c. */
#ifndef TESTS_GUEST_FORK_H
#define TESTS_GUEST_FORK_H

/* fork_wait.c: what parents learn of their children, by every way of waiting. */
void fork_test_statuses(void);
void fork_test_nohang(void);
void fork_test_waitid(void);
void fork_test_waitid_info(void);
void fork_test_groups(void);
void fork_test_no_child(void);
void fork_test_usage(void);
void fork_test_stopped(void);
void fork_test_stopped_makers(void);
void fork_test_zombie(void);
void fork_test_end_together(void);
void fork_test_many(void);
void fork_test_waiters(void);
void fork_test_foreign_wait(void);

/* fork_clone.c: other ways to make a process. */
void fork_test_vfork_exit(void);
void fork_test_vfork_exec(void);
void fork_test_vfork_killed(void);
void fork_test_clone_vfork(void);
void fork_test_clone_ids(void);
void fork_test_clone_parent(void);
void fork_test_clone_signal(void);
void fork_test_clone_errors(void);
void fork_test_clone3_process(void);
void fork_test_clone3_thread(void);
void fork_test_posix_spawn(void);

#endif
