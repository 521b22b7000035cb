/* The cases of test-fork that stand in files of their own; its table is in test-fork.c. */
#ifndef USERLAND_TESTS_FORK_H
#define USERLAND_TESTS_FORK_H

/* fork_wait.c: what parents learn of their children, by every way of waiting. */
void case_statuses(void);
void case_nohang(void);
void case_waitid(void);
void case_waitid_info(void);
void case_groups(void);
void case_no_child(void);
void case_usage(void);
void case_stopped(void);
void case_stopped_makers(void);
void case_zombie(void);
void case_end_together(void);
void case_many(void);
void case_waiters(void);
void case_foreign_wait(void);

/* fork_clone.c: other ways to make a process. */
void case_vfork_exit(void);
void case_vfork_exec(void);
void case_vfork_killed(void);
void case_clone_vfork(void);
void case_clone_ids(void);
void case_clone_parent(void);
void case_clone_signal(void);
void case_clone_errors(void);
void case_clone3_process(void);
void case_clone3_thread(void);
void case_posix_spawn(void);

#endif
