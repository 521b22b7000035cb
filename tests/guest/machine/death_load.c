/* test-death: deaths under load, and what the others have before and after. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

void death_test_load(void)
{
    int64_t slowest = 0;

    for (long round = 0; round < death_rounds; round++) {
        int dying = death_victim((int)round), living = death_neighbour(dying);
        pid_t workers[2], wanderers[2];
        int64_t since;

        death_begin();
        for (int i = 0; i < 2; i++) {
            workers[i] = FORK();
            if (workers[i] == 0)
                death_work(i, i == 0 ? 0 : living, i == 0 ? living : 0);
        }
        for (int i = 0; i < 2; i++)
            wanderers[i] = death_wanderer((uint64_t)(2 * round + i));
        UNTIL(death_board->done[0] > round % 3 && death_board->done[1] > 0 &&
                  death_board->other_word > 5u + 3u * (unsigned)round % 40u,
              "work");
        since = tap_time();
        death_kill(dying, round % 5 == 4 ? KETTLE_KILL_PANIC : KETTLE_KILL_NOW);
        if (tap_time() - since > slowest)
            slowest = tap_time() - since;
        death_audit();
        death_start_again(dying);
        for (long before = death_board->done[0]; death_board->done[0] == before;)
            sched_yield();
        death_board->over = 1;
        for (int i = 0; i < 2; i++)
            CHECK_EXITS(workers[i], 0);
        for (int i = 0; i < 2; i++)
            death_reap(wanderers[i]);
        CHECK(death_board->wrong == 0, "%ld things went wrong", (long)death_board->wrong);
    }
    death_audit();
    tap_note("%ld deaths under load, the slowest was cleaned up in %ld us", death_rounds, (long)(slowest / 1000));
}

/* --- nothing is lost --- */

/* What is counted exactly of KERNEL: all up to the timers; and the frames that it uses, in *USED. */
static void objects_of(int kernel, char *counts, size_t size, long *used)
{
    static char text[65536];
    char name[32], *line, *end;
    ssize_t got = 0, more;
    int fd = (int)MUST(open("/proc/kettle/objects", O_RDONLY));

    while ((more = read(fd, text + got, sizeof(text) - 1 - (size_t)got)) > 0)
        got += more;
    close(fd);
    text[got] = '\0';
    snprintf(name, sizeof(name), "kernel %d ", kernel);
    line = strstr(text, name);
    REQUIRE(line != NULL, "no objects of kernel %d", kernel);
    end = strstr(line, " objects ");
    *used = strtol(strstr(line, " used ") + 6, NULL, 10);
    snprintf(counts, size, "%.*s", (int)(end - line), line);
}

/* Whether a count in AFTER, of a kernel whose counts were BEFORE, is larger. It may be smaller: a timer, or what is
 * about to be given back, may have been there by chance. */
static bool has_more(const char *before, const char *after)
{
    while (*after != '\0' && *before != '\0') {
        char *before_end, *after_end;

        if (strtol(after, &after_end, 10) > strtol(before, &before_end, 10))
            return true;
        before = before_end + strcspn(before_end, "0123456789");
        after = after_end + strcspn(after_end, "0123456789");
    }
    return *after != *before;
}

#define ACCOUNT_DEATHS 3  /* in each turn */
#define ACCOUNT_LEAST 6   /* deaths between the two counts */
#define ACCOUNT_FRAMES 99 /* more than before, at most: with a hundred deaths, less than one for each */

void death_test_account(void)
{
    long deaths = death_rounds > ACCOUNT_LEAST ? death_rounds : ACCOUNT_LEAST;
    long turns = 2 + (deaths + ACCOUNT_DEATHS - 1) / ACCOUNT_DEATHS; /* the first two make what is kept */
    char before[64][256], after[256];
    long used_before[64], used;

    for (long turn = 0; turn < turns; turn++) {
        for (int i = 0; i < death_count && turn == 2; i++)
            objects_of(death_kernels[i], before[i], sizeof(before[i]), &used_before[i]);
        death_test_threads();
        death_test_homes();
        death_test_files();
    }
    for (int i = 0; i < death_count; i++) {
        if (death_kernels[i] != 0 && death_kernels[i] == death_victim(0))
            continue; /* it is new */
        objects_of(death_kernels[i], after, sizeof(after), &used);
        if (has_more(before[i], after))
            tap_note("had: %s; has, or is about to give back: %s", before[i], after);
        UNTIL((objects_of(death_kernels[i], after, sizeof(after), &used), !has_more(before[i], after)),
              "a kernel to have what it had, and no more");
        CHECK(used - used_before[i] <= ACCOUNT_FRAMES, "kernel %d: %ld frames in use, now %ld", death_kernels[i],
              used_before[i], used);
        tap_note("kernel %d: %ld frames in use, and %ld after %ld deaths more", death_kernels[i], used_before[i], used,
                 (turns - 2) * ACCOUNT_DEATHS);
    }
}
