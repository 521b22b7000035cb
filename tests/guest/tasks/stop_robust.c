/* The part of test-stop about robust lists: of threads that have set theirs on any kernel before the home of their
 * process stops. Afterwards some of them end there and some on a third kernel, and all leave a lock that they hold. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/stop.h"

#define HOME 1
#define HOLDERS 16 /* at most: two on each kernel but the home */

struct holder {
    pthread_t thread;
    pthread_mutex_t lock;
    int kernel, next; /* where it takes the lock, and where it ends */
};

static struct {
    atomic_int ready;
    atomic_bool over;
} * shared;

/* A thread of the C library sets its robust list when it takes its first robust lock that processes may share. */
static void *hold(void *context)
{
    struct holder *holder = context;

    MUST(kettle_migrate(holder->kernel));
    MUST(-pthread_mutex_lock(&holder->lock));
    atomic_fetch_add(&shared->ready, 1);
    UNTIL(shared->over, "the home to stop");
    MUST(kettle_migrate(holder->next));
    return NULL;
}

/* A kernel after KERNEL that is not the home. */
static int kernel_after(int kernel)
{
    int next = (kernel + 1) % kettle_kernels();

    return next == HOME ? (next + 1) % kettle_kernels() : next;
}

static _Noreturn void be_home_of_holders(int count)
{
    static struct holder holders[HOLDERS];
    pthread_mutexattr_t robust;
    int kernel = HOME;

    MUST(-pthread_mutexattr_init(&robust));
    MUST(-pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST));
    MUST(-pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED));
    for (int i = 0; i < count; i++) {
        kernel = i % 2 == 0 ? kernel_after(kernel) : kernel;
        holders[i].kernel = kernel;
        holders[i].next = i % 2 == 0 ? kernel : kernel_after(kernel);
        MUST(-pthread_mutex_init(&holders[i].lock, &robust));
        MUST(-pthread_create(&holders[i].thread, NULL, hold, &holders[i]));
    }
    for (int i = 0; i < count; i++) {
        int error;

        MUST(-pthread_join(holders[i].thread, NULL));
        error = pthread_mutex_lock(&holders[i].lock);
        CHECK(error == EOWNERDEAD, "lock of kernel %d: %s", holders[i].kernel, tap_error(error));
    }
    _exit(0);
}

void test_robust_lists(void)
{
    int count = 2 * (kettle_kernels() - 1);
    pid_t child;

    if (count > HOLDERS)
        count = HOLDERS;
    shared = tap_share(sizeof(*shared));
    MUST(kettle_migrate(HOME));
    child = FORK();
    if (child == 0)
        be_home_of_holders(count);
    MUST(kettle_migrate(0));
    UNTIL(shared->ready == count, "the locks to be taken");
    CHECK(kettle_stop(HOME) == 0, "stop of kernel %d: %s", HOME, strerror(errno));
    shared->over = true;
    CHECK_EXITS(child, 0);
    CHECK(kettle_start(HOME) == 0, "start of kernel %d: %s", HOME, strerror(errno));
}
