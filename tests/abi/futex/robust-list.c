/* The end of a thread marks the words of its robust list. */
#include "abi.h"

static struct {
    struct robust_list_head head;
    struct robust_list entry;
    uint32_t word;
} list;
static void *work(void *argument)
{
    list.head.list.next = &list.entry;
    list.entry.next = &list.head.list;
    list.head.futex_offset = (long)offsetof(__typeof__(list), word) - (long)offsetof(__typeof__(list), entry);
    list.word = (uint32_t)syscall(SYS_gettid);
    CALL(syscall(SYS_set_robust_list, &list.head, sizeof(list.head)));
    syscall(SYS_exit, 0);
    return argument;
}
int main(void)
{
    CALL(syscall(SYS_set_robust_list, &list.head, 1L));
    start(work, NULL);
    while ((atomic_load((atomic_uint *)&list.word) & FUTEX_OWNER_DIED) == 0)
        sched_yield();
    SHOW(list.word == FUTEX_OWNER_DIED);
    return 0;
}
