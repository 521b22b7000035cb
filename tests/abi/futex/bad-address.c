/* What futex says to addresses that no program has. */
#include "abi.h"

#define KERNEL ((int *)0xffff800000000000)

int main(void)
{
    int *gone = (int *)MAP(PAGE, MAP_PRIVATE);
    int *none = (int *)MAP(PAGE, MAP_PRIVATE);
    int *read_only = (int *)MAP(PAGE, MAP_PRIVATE);
    int word = 0;

    MUST(munmap(gone, PAGE));
    MUST(mprotect(none, PAGE, PROT_NONE));
    MUST(mprotect(read_only, PAGE, PROT_READ));
    CALL(syscall(SYS_futex, KERNEL, FUTEX_WAKE_PRIVATE, 1));
    CALL(syscall(SYS_futex, KERNEL, FUTEX_WAKE, 1));
    CALL(syscall(SYS_futex, gone, FUTEX_WAKE_PRIVATE, 1));
    CALL(syscall(SYS_futex, gone, FUTEX_WAKE, 1));
    CALL(syscall(SYS_futex, none, FUTEX_WAKE_PRIVATE, 1));
    CALL(syscall(SYS_futex, none, FUTEX_WAKE, 1));
    CALL(syscall(SYS_futex, read_only, FUTEX_WAKE, 1));
    CALL(syscall(SYS_futex, NULL, FUTEX_WAKE_PRIVATE, 1));
    CALL(syscall(SYS_futex, NULL, FUTEX_WAKE, 1));
    CALL(syscall(SYS_futex, (char *)&word + 1, FUTEX_WAKE, 1));
    CALL(syscall(SYS_futex, (char *)gone + 1, FUTEX_WAKE_PRIVATE, 1));
    CALL(syscall(SYS_futex, KERNEL, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 1));
    CALL(syscall(SYS_futex, gone, FUTEX_WAKE_BITSET, 1, NULL, NULL, 1));
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0));
    CALL(syscall(SYS_futex, gone, FUTEX_WAIT, 0, NULL));
    CALL(syscall(SYS_futex, gone, FUTEX_WAIT_PRIVATE, 0, NULL));
    CALL(syscall(SYS_futex, none, FUTEX_WAIT_PRIVATE, 0, NULL));
    CALL(syscall(SYS_futex, read_only, FUTEX_WAIT, 1, NULL));
    CALL(syscall(SYS_futex, gone, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1, &word, 0));
    CALL(syscall(SYS_futex, gone, FUTEX_CMP_REQUEUE, 1, 1, &word, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1, gone, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1, gone, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1, KERNEL, 0));
    CALL(syscall(SYS_futex, KERNEL, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1, &word, 0));
    CALL(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1, (char *)&word + 2, 0));
    CALL(syscall(SYS_futex, gone, FUTEX_REQUEUE, 1, 1, &word));
    CALL(syscall(SYS_futex, &word, FUTEX_REQUEUE, 1, 1, gone));
    CALL(syscall(SYS_futex, &word, FUTEX_REQUEUE | 128, 1, 1, gone));
    CALL(syscall(SYS_futex, &word, FUTEX_REQUEUE | 128, 1, 1, KERNEL));
    CALL(syscall(SYS_futex, &word, FUTEX_REQUEUE, 1, -1, &word));
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_OP | 128, 1, 1, gone, FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0)));
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_OP, 1, 1, gone, FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0)));
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_OP, 1, 1, read_only, FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0)));
    CALL(syscall(SYS_futex, KERNEL, FUTEX_WAKE_OP | 128, 1, 1, &word, FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0)));
    CALL(syscall(SYS_futex, gone, FUTEX_WAKE_OP | 128, 1, 1, &word, FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0)));
    CALL(syscall(SYS_futex, gone, FUTEX_LOCK_PI_PRIVATE, 0, NULL));
    CALL(syscall(SYS_futex, gone, FUTEX_TRYLOCK_PI | 128, 0, NULL));
    CALL(syscall(SYS_futex, gone, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL));
    CALL(syscall(SYS_futex, KERNEL, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL));
    CALL(syscall(SYS_futex, read_only, FUTEX_LOCK_PI, 0, NULL));
    return 0;
}
