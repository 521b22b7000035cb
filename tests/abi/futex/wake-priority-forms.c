/* Bit sets, vectors of words and FUTEX_WAKE_OP wake by priority: that with which a thread began to wait. */
#include "waiters.h"

static int word, other;

struct one {
    uint64_t value, address;
    uint32_t flags, reserved;
};
static void of_bits(int i)
{
    while (syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 1 << (i % 2)) == -1 && errno == EINTR) {
    }
    served(i);
}
static void of_words(int i)
{
    struct one words[2] = {{0, (uintptr_t)(i % 2 ? &word : &other), 2 | 128, 0},
                           {0, (uintptr_t)(i % 2 ? &other : &word), 2 | 128, 0}};

    while (syscall(449, words, 2L, 0L, NULL, 0L) == -1 && errno == EINTR) {
    }
    served(i);
}
static void of_word(int i)
{
    while (syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL) == -1 && errno == EINTR) {
    }
    served(i);
}
int main(void)
{
    struct sched_param lower = {.sched_priority = 1}, higher = {.sched_priority = 50};

    all_wait(of_bits);
    for (int i = 0; i < WAITERS; i++) {
        MUST(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, i < WAITERS / 2 ? 2 : 1));
        until_served(i + 1);
    }
    tell_order("bits");
    all_wait(of_words);
    for (int i = 0; i < WAITERS; i++) {
        MUST(syscall(SYS_futex, i % 2 ? &word : &other, FUTEX_WAKE_PRIVATE, 1));
        until_served(i + 1);
    }
    tell_order("vectors");
    all_wait(of_word);
    for (int i = 0; i < WAITERS; i++) {
        MUST(syscall(SYS_futex, &other, FUTEX_WAKE_OP, 0, 1, &word, FUTEX_OP(FUTEX_OP_SET, 0, FUTEX_OP_CMP_EQ, 0)));
        until_served(i + 1);
    }
    tell_order("WAKE_OP");
    all_wait(of_word);
    MUST(syscall(SYS_sched_setscheduler, waiter_tids[3], SCHED_FIFO, &lower));
    MUST(syscall(SYS_sched_setscheduler, waiter_tids[0], SCHED_FIFO, &higher));
    for (int i = 0; i < WAITERS; i++) {
        MUST(syscall(SYS_futex, &word, FUTEX_WAKE, 1));
        until_served(i + 1);
    }
    tell_order("changed while they wait");
    return 0;
}
