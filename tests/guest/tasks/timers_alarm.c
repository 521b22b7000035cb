/* test-timers: an alarm that is set anew, or switched off, at the time at which it expires. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/timers.h"

#define ALARMS 2000

/* The alarm is set anew, with an interval, at the time at which it expires: whichever comes first, the new setting
 * holds, and one that is off stays so. */
void timers_test_set_anew(void)
{
    const struct itimerval later = {.it_value = {.tv_sec = 1000}, .it_interval = {.tv_usec = 1000}};
    const struct itimerval off = {.it_interval = {.tv_usec = 1000}};
    struct itimerval is;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < ALARMS; i++) {
        struct itimerval soon = {.it_value = {.tv_usec = 50 + i % 50}};
        const struct itimerval *anew = i % 2 == 0 ? &later : &off;
        long end;
        bool came;

        CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0, "setitimer: %s", strerror(errno));
        end = tap_time() + soon.it_value.tv_usec * 1000;
        while (tap_time() < end) {
        }
        CHECK(setitimer(ITIMER_REAL, anew, NULL) == 0, "setitimer: %s", strerror(errno));
        came = sigtimedwait(&set, NULL, &(struct timespec){0}) > 0;
        for (int look = 0; look < 20; look++) { /* what has expired has been taken by then */
            CHECK(getitimer(ITIMER_REAL, &is) == 0, "getitimer: %s", strerror(errno));
            if (anew == &off)
                CHECK(is.it_value.tv_sec == 0 && is.it_value.tv_usec == 0 && is.it_interval.tv_usec == 0,
                      "%d: off, and comes in %ld us", i, (long)is.it_value.tv_usec);
            else
                CHECK(is.it_value.tv_sec > 900, "%d: comes in %ld s %ld us, not 1000 s", i, (long)is.it_value.tv_sec,
                      (long)is.it_value.tv_usec);
        }
        CHECK(sigtimedwait(&set, NULL, &(struct timespec){0}) < 0, "%d: a signal%s came after the alarm was set anew",
              i, came ? " more" : "");
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    }
    while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0) {
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}
