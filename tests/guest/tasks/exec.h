/* What the tests of exec share. */
#ifndef TESTS_GUEST_EXEC_H
#define TESTS_GUEST_EXEC_H

#include <stdatomic.h>
#include <stdint.h>

#define THREADS_MAX 16

/* Threads on all places, which exec is to end. */
struct company {
    atomic_int running;                   /* threads that have begun */
    _Atomic(uint64_t) beats[THREADS_MAX]; /* each counts while it lives */
    atomic_int astray;
};
extern struct company *company; /* shared, so that the parent sees it: tap_share makes it */

/* Waits until COUNT threads run RUN, each with its index, which is its place. */
void company_start(int count, void *(*run)(void *));
void *thread_beats(void *index);

/* Of a process that runs the test program again and says so, and then waits: pipes, and where it execs. */
struct watched {
    int up[2];
    int down[2];
    int place;
};
/* ARGUMENT is a struct watched. Does not return. */
void *thread_execs_watched(void *argument);

/* Runs the test program again, which exits with 0 if its process has the present id and one thread. */
_Noreturn void exec_identity(void);

/* tests/guest/tasks/exec_others.c */
void exec_test_second_thread(void);
void exec_test_running_others(void);
void exec_test_running_others_thread(void);
void exec_test_waiting_others(void);
void exec_test_waiting_others_thread(void);
void exec_test_race(void);
void exec_test_coming(void);
void exec_test_astray(void);
void exec_test_race_exit(void);

#endif
