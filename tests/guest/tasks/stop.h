/* The parts of test-stop. */
#ifndef TESTS_GUEST_TASKS_STOP_H
#define TESTS_GUEST_TASKS_STOP_H

/* stop_timers.c */
void test_timers(void);
void test_timed_thread(void);
/* stop_robust.c */
void test_robust_lists(void);

#endif
