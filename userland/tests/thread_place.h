/* Places as in place.h, kernels or on Linux CPUs, for threads that the C library does not know. */
#ifndef USERLAND_TESTS_THREAD_PLACE_H
#define USERLAND_TESTS_THREAD_PLACE_H

/* Once, by the first thread. */
void thread_places_find(void);
int thread_places(void);
/* The calling thread goes to PLACE modulo their number. */
void thread_place_go(int place);

#endif
