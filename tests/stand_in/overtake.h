/* Races for host tests, without threads: a write is overtaken by what another CPU does between the instruction that
 * has computed the value and the one that stores it. A test that includes this has tests/stand_in/overtake.c among its
 * sources. */
#ifndef TESTS_STAND_IN_OVERTAKE_H
#define TESTS_STAND_IN_OVERTAKE_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory of whole pages, SIZE bytes at least. It is never freed. */
void *overtake_memory(size_t size);
/* The first instruction from now on that writes to the page at PAGE, of overtake_memory, is begun again after
 * FUNCTION(CONTEXT). An atomic one reads anew then; a store has the value that it had. */
void overtake_at(void *page, void (*function)(void *), void *context);
/* Runs RUN(CONTEXT), and after each of its instructions LOOK: what another CPU could see. Returns how many instructions
 * there were. LOOK must not end the test, as RUN goes on. */
uint64_t overtake_everywhere(void (*run)(void *), void *context, void (*look)(void));

#endif
