/* The tests of test-moved that stand in files of their own, and what they share; the table is in test-moved.c. */
#ifndef TESTS_GUEST_MOVED_H
#define TESTS_GUEST_MOVED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A thread that others move. */
struct moved {
    pthread_t thread;
    int index;
    atomic_int tid;      /* 0 until it runs */
    atomic_int done;     /* it has done its work */
    atomic_int released; /* it is not pushed any more and may end */
    atomic_long counted; /* of whatever it counts */
};

/* Starts it and waits until its id is known; MOVED's other fields are zero but INDEX. RUN calls moved_begin first. */
void moved_start(struct moved *moved, int index, void *(*run)(void *));
void moved_begin(struct moved *moved);

/* Called last by a thread that is pushed until moved_join: who is pushed must exist. */
void moved_end(struct moved *moved);

void moved_join(struct moved *moved);

/* Pushes the thread to random places of *RANDOM until *DONE is not 0 and it was pushed at least LEAST times. Returns
 * how often. */
long moved_storm(int tid, atomic_int *done, long least, uint64_t *random);

/* As moved_storm, done in a child or a thread of its own meanwhile. */
struct mover {
    pthread_t thread;
    int tid;
    atomic_int stop;
    uint64_t random;
    atomic_long pushes;
};

void mover_start(struct mover *mover, int tid, uint64_t seed);

/* moved_wait.c: moved while it waits. */
void moved_test_futex(void);
void moved_test_pipe_read(void);
void moved_test_pipe_write(void);
void moved_test_sleep(void);
void moved_test_wait4(void);
void moved_test_suspend(void);
void moved_test_timedwait(void);
void moved_test_timedwait_time(void);
void moved_test_join(void);

#endif
