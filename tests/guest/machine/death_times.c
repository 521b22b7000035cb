/* test-death: how long a death lasts. */
#include <stdio.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

/* Until the others have noticed it and have cleaned up, and a process that was at work goes on; at rest, and with
 * three threads about. */
void death_test_times(void)
{
    for (int loaded = 0; loaded < 2; loaded++) {
        for (int how = 0; how <= KETTLE_KILL_HALT; how++) {
            int dying = death_victim(how);
            pid_t worker, wandering = 0;
            int64_t since, gone, first;
            long before;

            death_begin();
            worker = FORK();
            if (worker == 0)
                death_work(0, 0, 0);
            if (loaded)
                wandering = death_wanderer((uint64_t)how);
            UNTIL(death_board->done[0] > 0 && (!loaded || death_board->other_word > 10), "work");
            since = tap_time();
            death_kill(dying, how);
            gone = tap_time() - since;
            before = death_board->done[0];
            UNTIL(death_board->done[0] != before, "work again");
            first = tap_time() - since;
            tap_note("%s, %s: cleaned up after %ld us, work done after %ld us", death_ways[how],
                     loaded ? "load" : "rest", (long)(gone / 1000), (long)(first / 1000));
            death_board->over = 1;
            CHECK_EXITS(worker, 0);
            if (loaded)
                death_reap(wandering);
            death_start_again(dying);
        }
    }
}
