/* The globals of some files, set back to what they were when the program started, so that one program can run them anew
 * for each input. The program's "sources:" name state/first.c, then those files, then state/last.c: the linker lays out
 * their globals in this order. Included by those two, and once by the program. */
#ifndef TESTS_STAND_IN_STATE_H
#define TESTS_STAND_IN_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Objects beside theirs: with a value at the start, and without. */
extern uint64_t state_first_data[], state_last_data[], state_first_zero[], state_last_zero[];

/* GLOBAL, which is zero when the program starts, is one of theirs. */
static inline bool state_holds(const volatile void *global)
{
    uintptr_t at = (uintptr_t)global;

    return at > (uintptr_t)state_first_zero && at < (uintptr_t)state_last_zero;
}

/* Sets them back. The first call, before any of the files' code has run, remembers them instead. Words are copied by
 * hand: the sanitizer's memcpy would look at what lies between the globals. */
__attribute__((no_sanitize("address"), unused)) static void state_reset(void)
{
    size_t data = ((uintptr_t)state_last_data - (uintptr_t)state_first_data) / sizeof(uint64_t);
    size_t zero = ((uintptr_t)state_last_zero - (uintptr_t)state_first_zero) / sizeof(uint64_t);
    static uint64_t *saved;

    if (saved == NULL) {
        saved = malloc(data * sizeof(uint64_t));
        for (size_t i = 0; i < data; i++)
            saved[i] = ((volatile uint64_t *)state_first_data)[i];
        return;
    }
    for (size_t i = 0; i < data; i++)
        ((volatile uint64_t *)state_first_data)[i] = saved[i];
    for (size_t i = 0; i < zero; i++)
        ((volatile uint64_t *)state_first_zero)[i] = 0;
}

#endif
