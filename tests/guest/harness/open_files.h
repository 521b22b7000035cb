/* Whether the machine has as many open files after a program's tests as before. */
#ifndef TESTS_GUEST_OPEN_FILES_H
#define TESTS_GUEST_OPEN_FILES_H

/* Notes how many there are now; main calls it before the tests run. */
void open_files_note(void);

/* A test, the last of its table: as many are left, as soon as what was closed on other kernels has gone. Skipped where
 * there is no Kettle. */
void open_files_test(void);

#endif
