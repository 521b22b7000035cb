/* What the files of the harness share. */
#ifndef TESTS_GUEST_TAP_INTERNAL_H
#define TESTS_GUEST_TAP_INTERNAL_H

#include <stdatomic.h>

#include "tests/guest/harness/tap.h"

#define TAP_TEXT 160

/* What is known of the running test: in a page that its processes share. */
struct tap_report {
    atomic_uint failures;
    atomic_bool told;       /* tap_say_waits has been called */
    char awaited[TAP_TEXT]; /* what the last waiter waits for, or "" */
    char first[TAP_TEXT];   /* the first failure */
    char skip[TAP_TEXT];    /* why the test is skipped, or "" */
};

extern struct tap_report *tap_report;

/* Makes the page, and forgets what is in it. */
bool tap_report_make(void);
void tap_report_clear(void);

/* Says how many failures there were when not all were printed. */
void tap_report_rest(void);

/* Writes a line of its own with one call, so that lines of several processes do not mix. */
void tap_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a comment line for each process of a Kettle and each of its threads: where it is and what it waits for. Once
 * in a test. A child does so, for which the caller waits for at most ten seconds; but to fork takes the lock of the
 * caller's address space, and has no limit if that hangs. So the result of a test is printed before. */
void tap_say_waits(void);

/* Sets the limit of the test that runs in this process, or of the one that comes, anew. False with errno set: there is
 * no timer. */
bool tap_watch(void);

/* The process that runs the tests of a program in itself is about to end in the midst of one: reports it, once. */
void tap_result_of_end(void);

#endif
