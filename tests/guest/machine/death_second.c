/* test-death: a second kernel dies while the others clean up after the first, at each kind of message by which they do
 * so. Both are cleaned up, and both start again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

/* Messages by which survivors clean up, and how many of them the second kernel takes before it dies. The steps of the
 * coordinator come in one order: fence, end, free, freeze, flush, left, count, drop, flush, reclaim, reset, ... */
static const struct {
    const char *type;
    int first, last, by;
} states[] = {
    {"STOP_ORDER", 1, 13, 1}, {"STOP_LOOK", 1, 3, 1}, {"STOP_FLUSH", 1, 3, 2},   {"STOP_FLUSH_URGENT", 1, 3, 2},
    {"PROXIES", 1, 2, 1},     {"HOLDS", 1, 1, 1},     {"AUDIT_FRAMES", 1, 4, 3},
};

/* Kernel FIRST dies, and SECOND at the NUMBERth message of TYPE from then on. */
static bool die_both(int first, int second, const char *type, int number)
{
    pid_t worker, wanderers[2];
    char words[128];
    bool came;

    death_state = type;
    death_begin();
    worker = FORK();
    if (worker == 0)
        death_work(0, 0, 0);
    for (int i = 0; i < 2; i++)
        wanderers[i] = death_wanderer((uint64_t)(2 * number + i));
    UNTIL(death_board->done[0] > 0 && death_board->other_word > 10, "work");
    snprintf(words, sizeof(words), "kernel=%d inject=type:%s,delay:0,dies:%d", second, type, number);
    CHECK(kettle_control(words) == 0, "%s: %s", words, tap_error(errno));
    CHECK(kettle_kill(first, KETTLE_KILL_NOW) == 0, "death of kernel %d: %s", first, tap_error(errno));
    CHECK(kettle_started(first) == 0, "kernel %d runs", first);
    came = death_comes(second, INT64_C(100000000));
    if (!came) {
        snprintf(words, sizeof(words), "kernel=%d inject=off", second);
        if (kettle_control(words) != 0 || kettle_started(second) == 0)
            came = death_comes(second, INT64_C(5000000000)); /* at the last moment */
    }
    death_audit();
    for (long before = death_board->done[0]; death_board->done[0] == before;)
        sched_yield();
    death_start_again(first);
    if (came)
        death_start_again(second);
    death_board->over = 1;
    CHECK_EXITS(worker, 0);
    for (int i = 0; i < 2; i++)
        death_reap(wanderers[i]);
    CHECK(death_board->wrong == 0, "%s %d: %ld things went wrong", type, number, (long)death_board->wrong);
    return came;
}

void death_test_second(void)
{
    char line[1024] = "";
    int reached = 0, tried = 0;

    if (death_count < 3) {
        tap_skip("only one kernel may die");
        return;
    }
    /* an object of kernel 0, about which it asks the others */
    REQUIRE(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, (int)MUST(open(tap_self(), O_RDONLY)), 0) != MAP_FAILED, "%s",
            tap_error(errno));
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        for (int number = states[i].first; number <= states[i].last; number += states[i].by) {
            char word[64];

            tried++;
            if (!die_both(death_victim(tried), death_victim(tried + 1), states[i].type, number))
                continue;
            reached++;
            snprintf(word, sizeof(word), " %s:%d", states[i].type, number);
            if (strlen(line) + strlen(word) < sizeof(line))
                strcat(line, word);
        }
    }
    death_audit();
    CHECK(reached > tried / 2, "%d of %d second deaths came:%s", reached, tried, line);
    tap_note("%d of %d second deaths came:%s", reached, tried, line);
}
