/* Times of oneself and of children grow. */
#include "abi.h"

static int child(void)
{
    struct rusage usage;
    do
        getrusage(RUSAGE_SELF, &usage);
    while (usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_sec * 1000000 +
               usage.ru_stime.tv_usec <
           30000);
    return 0;
}
int main(void)
{
    struct rusage usage;
    struct tms times_now;
    reap(spawn(child));
    CALL(getrusage(RUSAGE_CHILDREN, &usage));
    SHOW(usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_sec * 1000000 +
             usage.ru_stime.tv_usec >=
         30000);
    SHOW(times(&times_now) != -1);
    SHOW(times_now.tms_cutime + times_now.tms_cstime >= 2);
    CALL(getrusage(99, &usage));
    SHOW(sysconf(_SC_CLK_TCK));
    return 0;
}
