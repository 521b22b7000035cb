/* Policies and priorities of a thread. */
#include "abi.h"

int main(void)
{
    struct sched_param parameter = {.sched_priority = 10};
    int policy;
    CODE(pthread_getschedparam(pthread_self(), &policy, &parameter));
    SHOW(policy == SCHED_OTHER);
    SHOW(parameter.sched_priority);
    parameter.sched_priority = 10;
    CODE(pthread_setschedparam(pthread_self(), SCHED_RR, &parameter));
    CODE(pthread_getschedparam(pthread_self(), &policy, &parameter));
    SHOW(policy == SCHED_RR);
    SHOW(parameter.sched_priority);
    parameter.sched_priority = 100;
    CODE(pthread_setschedparam(pthread_self(), SCHED_RR, &parameter));
    SHOW(sched_get_priority_min(SCHED_FIFO));
    SHOW(sched_get_priority_max(SCHED_FIFO));
    return 0;
}
