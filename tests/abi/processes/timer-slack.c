/* The timer slack: a child's default is its parent's value, and so is a thread's. */
#include "abi.h"

static int child(void)
{
    SHOW(prctl(PR_GET_TIMERSLACK));
    CALL(prctl(PR_SET_TIMERSLACK, 90000));
    SHOW(prctl(PR_GET_TIMERSLACK));
    CALL(prctl(PR_SET_TIMERSLACK, 0));
    SHOW(prctl(PR_GET_TIMERSLACK));
    return 0;
}
static void *thread(void *unused)
{
    child();
    return unused;
}
int main(void)
{
    SHOW(prctl(PR_GET_TIMERSLACK));
    CALL(prctl(PR_SET_TIMERSLACK, 70000));
    reap(spawn(child));
    pthread_join(start(thread, NULL), NULL);
    SHOW(prctl(PR_GET_TIMERSLACK));
    CALL(prctl(PR_SET_TIMERSLACK, 0));
    SHOW(prctl(PR_GET_TIMERSLACK));
    return 0;
}
