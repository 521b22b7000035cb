/* Addresses that a system call must not use, each in its place beside pages that nobody may touch. */
#ifndef TESTS_GUEST_BAD_POINTERS_H
#define TESTS_GUEST_BAD_POINTERS_H

#include <stdbool.h>
#include <stdint.h>

enum bad_pointer {
    BAD_NULL,
    BAD_ONE,
    BAD_LAST,      /* the last byte of a page before an unmapped one, which a call may read and write */
    BAD_UNMAPPED,  /* this and the next two are right before a page that the program may write */
    BAD_NO_ACCESS, /* PROT_NONE */
    BAD_READ_ONLY, /* bad for calls that write */
    BAD_KERNEL,
    BAD_NONCANONICAL,
    BAD_WRAPS, /* the end of an object there is beyond the last address */
    BAD_COUNT,
};

/* Maps the pages, shared with children; once, first. Ends the process when that fails. */
void bad_pointers_map(void);
uint64_t bad_pointer(enum bad_pointer kind);
const char *bad_pointer_name(enum bad_pointer kind);
/* False: a byte has changed that no call given one of these addresses may write. That of BAD_LAST may have changed. */
bool bad_pointers_hold(void);
/* Fills the pages with what bad_pointers_hold wants. */
void bad_pointers_fill(void);

#endif
