/* Random contents for all registers of a thread, within what the hardware lets them hold, and their comparison.
 *
 * The x87 instruction and data pointers are left out: processors differ in when they store them. */
#ifndef TESTS_GUEST_REGISTERS_RANDOM_H
#define TESTS_GUEST_REGISTERS_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/guest/tasks/registers.h"

/* Finds out what the machine has; before anything else here, with GS pointing to readable memory. Returns the XSAVE
 * components for registers_hold. */
uint64_t registers_find(void);

/* Puts into TEXT which registers there are. */
void registers_name(char *text, size_t size);

/* Fills REGISTERS with the next numbers of *RANDOM. */
void registers_fill(struct registers *registers, uint64_t *random);

/* Whether AFTER, as registers_hold stored it, is not BEFORE; TEXT then says where first. What a system call may change
 * by the ABI, RAX, RCX and R11, is compared only when the thread WAITED without one. GS_WORD is the word GS should
 * point to. */
bool registers_differ(const struct registers *before, const struct registers *after, bool waited, uint64_t gs_word,
                      char *text, size_t size);

#endif
