/* The cases of test-splice with several processes, and what they share with the others. */
#ifndef USERLAND_TESTS_SPLICE_H
#define USERLAND_TESTS_SPLICE_H

#include <stdbool.h>

/* A pipe; false after a note. */
bool splice_pipe(int ends[2], int flags);
void splice_close(const int ends[2]);

/* splice_process.c */
void case_waits(void);
void case_relay(void);
void case_shared_source(void);
void case_shared_target(void);
void case_end(void);
void case_full(void);
void case_interrupted(void);

#endif
