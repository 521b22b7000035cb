/* What the arguments of system calls are, for tests that make calls at random: a letter for each argument.
 *
 *     f descriptor      P path                 p memory to read or write     s size of memory
 *     v iovec           n small number         i flags: few bits             x anything
 *     a page address    l length of a mapping  t thread or process id        g signal
 *     k kernel          c clock                o offset in a file            z zero
 *     S stack, which the kernel does not touch
 *
 * The kernel reads or writes memory of the types P, p and v. */
#ifndef TESTS_GUEST_CALL_TYPES_H
#define TESTS_GUEST_CALL_TYPES_H

/* The letters for call NUMBER, also for Kettle's own calls; "xxxxxx" for those not listed; NULL: not to be made, or
 * there is no such call. */
const char *call_types(long number);
/* The greatest number of Linux's calls for which call_types may return letters. */
long call_types_last(void);
/* Linux's name of call NUMBER; NULL: there is no such call here. */
const char *call_name(long number);

#endif
