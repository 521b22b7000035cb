/* Access to the memory of the current program. See the header. */
#include "mm/user/user_copy.h"

#include "kernel/abi/errno.h"
#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/lib/string.h"
#include "msg/slice.h"

#define STRING_STEP 64ull /* bytes in the first step: most strings are short */

int user_read(void *to, uint64_t from, uint64_t size)
{
    if (!user_range(from, size) || user_copy(to, (const void *)from, size) != 0)
        return -EFAULT;
    return 0;
}

int user_write(uint64_t to, const void *from, uint64_t size)
{
    if (!user_range(to, size) || user_copy((void *)to, from, size) != 0)
        return -EFAULT;
    return 0;
}

int user_write_mapped(uint64_t to, const void *from, uint64_t size)
{
    struct cpu *cpu = cpu_self();
    int error;

    cpu->copy_bound = true;
    error = user_write(to, from, size);
    cpu->copy_bound = false;
    return error;
}

uint64_t user_reach(uint64_t address, uint64_t size)
{
    uint64_t done = PAGE_SIZE - address % PAGE_SIZE;

    if (!user_range(address, size) || user_probe((uint8_t *)address) != 0)
        return 0;
    while (done < size && user_probe((uint8_t *)(address + done)) == 0)
        done += PAGE_SIZE;
    return done < size ? done : size;
}

int64_t user_read_string(char *to, uint64_t from, uint64_t size)
{
    uint64_t length = 0;

    for (uint64_t step = STRING_STEP; length < size; step += step < PAGE_SIZE ? step : 0) {
        uint64_t part = step - ((from + length) & (step - 1)); /* a step never crosses the end of a page */
        uint64_t end;

        if (part > size - length)
            part = size - length;
        if (user_read(to + length, from + length, part) != 0)
            return -EFAULT;
        end = length + strnlen(to + length, part);
        if (end < length + part)
            return (int64_t)end;
        length = end;
        slice_check();
    }
    return -ENAMETOOLONG;
}
