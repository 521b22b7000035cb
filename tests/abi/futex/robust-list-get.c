/* get_robust_list tells what was set. */
#include "abi.h"

int main(void)
{
    static struct robust_list_head head;
    struct robust_list_head *got;
    size_t size;
    head.list.next = &head.list;
    CALL(syscall(SYS_set_robust_list, &head, sizeof(head)));
    CALL(syscall(SYS_get_robust_list, 0, &got, &size));
    SHOW(got == &head);
    SHOW(size == sizeof(head));
    CALL(syscall(SYS_get_robust_list, 999999, &got, &size));
    return 0;
}
