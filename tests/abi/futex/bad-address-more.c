/* The other forms of futex at addresses that no program has, and what they say to wrong arguments. */
#include "abi.h"

#define KERNEL ((int *)0xffff800000000000)
struct one {
    uint64_t value, address;
    uint32_t flags, reserved;
};
static int *gone, *none, *read_only, word, other;

static void vectors(void)
{
    struct one words[2] = {{1, (uintptr_t)&word, 2 | 128, 0}, {0, (uintptr_t)gone, 2 | 128, 0}};

    CALL(syscall(449, words, 2L, 0L, NULL, 0L));
    words[1].address = (uintptr_t)KERNEL;
    CALL(syscall(449, words, 2L, 0L, NULL, 0L));
    words[1] = (struct one){0, (uintptr_t)gone, 2, 0};
    words[0].value = 0;
    CALL(syscall(449, words, 2L, 0L, NULL, 0L));
    words[1] = (struct one){0, (uintptr_t)&other + 1, 2 | 128, 0};
    CALL(syscall(449, words, 2L, 0L, NULL, 0L));
    words[1] = (struct one){0, (uintptr_t)&other, 2 | 128, 1};
    CALL(syscall(449, words, 2L, 0L, NULL, 0L));
    words[1] = (struct one){0, (uintptr_t)&other, 3 | 128, 0};
    CALL(syscall(449, words, 2L, 0L, NULL, 0L));
    words[1] = (struct one){1, (uintptr_t)&other, 2 | 128, 0};
    CALL(syscall(449, words, 2L, 1L, NULL, 0L));
    CALL(syscall(449, words, 129L, 0L, NULL, 0L));
    CALL(syscall(449, NULL, 2L, 0L, NULL, 0L));
    CALL(syscall(449, gone, 2L, 0L, NULL, 0L));
    CALL(syscall(449, words, 2L, 0L, (void *)8, (long)CLOCK_MONOTONIC));
    CALL(syscall(449, words, 2L, 0L, &(struct timespec){0, 0}, 5L));
    CALL(syscall(449, words, 2L, 0L, &(struct timespec){0, 2000000000}, (long)CLOCK_MONOTONIC));
}
static void locks(void)
{
    struct timespec past = {0, 0};

    CALL(syscall(SYS_futex, gone, 13, 0, NULL)); /* FUTEX_LOCK_PI2 */
    CALL(syscall(SYS_futex, none, FUTEX_LOCK_PI, 0, NULL));
    CALL(syscall(SYS_futex, KERNEL, FUTEX_LOCK_PI, 0, NULL));
    CALL(syscall(SYS_futex, KERNEL, FUTEX_TRYLOCK_PI, 0, NULL));
    CALL(syscall(SYS_futex, read_only, FUTEX_TRYLOCK_PI | 128, 0, NULL));
    CALL(syscall(SYS_futex, read_only, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL));
    CALL(syscall(SYS_futex, (char *)&word + 1, FUTEX_LOCK_PI, 0, NULL));
    CALL(syscall(SYS_futex, (char *)&word + 1, FUTEX_UNLOCK_PI, 0, NULL));
    CALL(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, (void *)8));
    CALL(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL));
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, &past, gone, 0));
    CALL(syscall(SYS_futex, gone, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, &past, &word, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, &past, &word, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 1, &past, &other, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, 0L, gone, 0));
    CALL(syscall(SYS_futex, gone, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, 0L, &word, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PI_PRIVATE, 2, 0L, &other, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, 0L, &word, 0));
}
static void waits(void)
{
    struct timespec zero = {0, 0};

    CALL(syscall(SYS_futex, KERNEL, FUTEX_WAIT, 0, &zero));
    CALL(syscall(SYS_futex, NULL, FUTEX_WAIT, 0, &zero));
    CALL(syscall(SYS_futex, none, FUTEX_WAIT, 0, &zero));
    CALL(syscall(SYS_futex, gone, FUTEX_WAIT_BITSET, 0, &zero, NULL, 1));
    CALL(syscall(SYS_futex, gone, FUTEX_WAIT_BITSET, 0, &zero, NULL, 0));
    CALL(syscall(SYS_futex, read_only, FUTEX_WAIT_BITSET_PRIVATE, 0, &zero, NULL, 1));
    CALL(syscall(SYS_futex, read_only, FUTEX_WAIT, 0, &zero));
    CALL(syscall(SYS_futex, gone, FUTEX_WAIT, 0, (void *)8));
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &(struct timespec){-1, 0}));
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_CLOCK_REALTIME, 1));
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_CLOCK_REALTIME, 1, NULL));
    CALL(syscall(SYS_futex, &word, 2, 1)); /* FUTEX_FD */
    CALL(syscall(SYS_futex, gone, 99, 1));
}
static void operations(void)
{
    for (int op = 0; op < 8; op++)
        printf("op %d: %s\n", op,
               syscall(SYS_futex, &word, FUTEX_WAKE_OP | 128, 1, 1L, &other, FUTEX_OP(op, 0, FUTEX_OP_CMP_EQ, 0)) < 0
                   ? errno_name(errno)
                   : "done");
    for (int compare = 0; compare < 8; compare++)
        printf("compare %d: %s\n", compare,
               syscall(SYS_futex, &word, FUTEX_WAKE_OP | 128, 1, 1L, &other, FUTEX_OP(0, 0, compare, 0)) < 0
                   ? errno_name(errno)
                   : "done");
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_OP | 128, 1, 1L, KERNEL, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_OP | 128, 1, 1L, none, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_OP | 128, 1, 1L, NULL, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_OP | 128, 1, 1L, (char *)&other + 2, 0));
    CALL(syscall(SYS_futex, none, FUTEX_WAKE_OP, 1, 1L, &word, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, -1, 1L, &other, word));
    CALL(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, -1L, &other, word));
    CALL(syscall(SYS_futex, KERNEL, FUTEX_CMP_REQUEUE, 1, 1L, &other, 0));
    CALL(syscall(SYS_futex, none, FUTEX_CMP_REQUEUE, 1, 1L, &other, 0));
    CALL(syscall(SYS_futex, none, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1L, &other, 0));
    CALL(syscall(SYS_futex, KERNEL, FUTEX_REQUEUE, 1, 1L, &other));
    CALL(syscall(SYS_futex, &word, FUTEX_REQUEUE, 1, 1L, none));
    CALL(syscall(SYS_set_robust_list, gone, sizeof(struct robust_list_head)));
    CALL(syscall(SYS_set_robust_list, gone, 8));
    CALL(syscall(SYS_get_robust_list, 0, gone, &word));
    CALL(syscall(SYS_get_robust_list, 0, &(void *){NULL}, gone));
}
int main(void)
{
    struct robust_list_head head = {{&head.list}, 0, NULL};

    gone = (int *)MAP(PAGE, MAP_PRIVATE);
    none = (int *)MAP(PAGE, MAP_PRIVATE);
    read_only = (int *)MAP(PAGE, MAP_PRIVATE);
    MUST(munmap(gone, PAGE));
    MUST(mprotect(none, PAGE, PROT_NONE));
    MUST(mprotect(read_only, PAGE, PROT_READ));
    vectors();
    locks();
    waits();
    operations();
    CALL(syscall(SYS_set_robust_list, &head, sizeof(head)));
    return 0;
}
