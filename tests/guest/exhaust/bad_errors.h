/* Calls of which all but one pointer are right: with a bad one each fails with EFAULT, under Linux as here. */
#ifndef TESTS_GUEST_BAD_ERRORS_H
#define TESTS_GUEST_BAD_ERRORS_H

/* Gives the calling process what the calls are on, at its home. Ends it when that fails. */
void bad_errors_begin(void);
/* Makes each call with each address that is bad for it, and checks what it says. */
void bad_errors_check(void);

#endif
