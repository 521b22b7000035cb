/* statx tells what stat does, and more. */
#include "abi.h"

static struct {
    uint32_t mask, block;
    uint64_t attributes;
    uint32_t links, user, group;
    uint16_t mode, pad;
    uint64_t inode, size, rest[26];
} facts;

int main(void)
{
    put_file("a", "12345");
    CALL(syscall(SYS_statx, AT_FDCWD, "a", 0, 0x7ffu, &facts));
    printf("%o %ld links %u %d\n", facts.mode, (long)facts.size, facts.links, (facts.mask & 0x7ff) == 0x7ff);
    CALL(syscall(SYS_statx, AT_FDCWD, "none", 0, 0x7ffu, &facts));
    CALL(syscall(SYS_statx, AT_FDCWD, "a", 0x80000, 0x7ffu, &facts));
    CALL(syscall(SYS_statx, AT_FDCWD, "a", 0, 0x80000000u, &facts));
    CALL(syscall(SYS_statx, 0, "", AT_EMPTY_PATH, 1u, &facts));
    printf("%o\n", facts.mode & S_IFMT);
    return 0;
}
