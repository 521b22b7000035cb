/* Whether the machine has as many open files after a program's tests as before. */
#ifndef USERLAND_TESTS_LEFT_H
#define USERLAND_TESTS_LEFT_H

/* Notes what there is now. */
void left_begin(void);
/* A test: there is no more than that, soon. Skipped where there is no Kettle. */
void left_test(void);

#endif
