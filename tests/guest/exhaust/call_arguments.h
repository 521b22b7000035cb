/* Arguments of system calls drawn at random by their types (call_types.h), for tests that make calls of all kinds: of
 * an arena of memory, of descriptors of all kinds of files, and of paths below /tmp/fuzz. */
#ifndef TESTS_GUEST_CALL_ARGUMENTS_H
#define TESTS_GUEST_CALL_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

/* What is drawn depends on RANDOM's first value, and on the calls of these functions, only. */
struct call_arguments {
    uint64_t random;
    bool wild; /* now and then an argument is not of its type, and an address is bad */
};

/* Makes the directory of the paths, once, for all users. Ends the process when that fails. */
void call_arguments_directory(void);
/* Gives the calling process the arena and the descriptors; 0 to 2 become /dev/null. */
void call_arguments_begin(void);

uint64_t call_draw(struct call_arguments *drawn, uint64_t below);
/* An argument of the type that the letter TYPE names. */
uint64_t call_argument(struct call_arguments *drawn, char type);
/* Puts something like structures into the arena: what the next call reads. */
void call_arguments_prepare(struct call_arguments *drawn);

#endif
