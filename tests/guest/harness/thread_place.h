/* Places as in place.h, kernels or on Linux CPUs, for threads that the C library does not know. */
#ifndef TESTS_GUEST_THREAD_PLACE_H
#define TESTS_GUEST_THREAD_PLACE_H

/* Once, by the first thread. */
void thread_places_find(void);
int thread_places(void);
/* The calling thread goes to PLACE modulo their number. */
void thread_place_go(int place);

#endif
