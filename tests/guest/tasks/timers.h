/* The tests of test-timers that are in files of their own. */
#ifndef TESTS_GUEST_TIMERS_H
#define TESTS_GUEST_TIMERS_H

void timers_test_set_anew(void);

#endif
