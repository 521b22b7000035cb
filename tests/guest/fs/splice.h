/* The tests of test-splice with several processes, and what they share with the others. */
#ifndef TESTS_GUEST_SPLICE_H
#define TESTS_GUEST_SPLICE_H

#include <stdbool.h>

/* A pipe; false after a note. */
bool splice_pipe(int ends[2], int flags);
void splice_close(const int ends[2]);

/* splice_process.c */
void splice_test_waits(void);
void splice_test_relay(void);
void splice_test_shared_source(void);
void splice_test_shared_target(void);
void splice_test_end(void);
void splice_test_full(void);
void splice_test_stream_interrupted(void);

#endif
