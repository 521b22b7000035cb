/* Names of the system calls, and counts of calls that Kettle does not implement. See the header. */
#include "kernel/calls/calls.h"

#include <stddef.h>

static const char *const names[CALLS_MAX] = {
#define ABSENT(number, name) [number] = #name,
#define CALL(number, name, function, status) [number] = #name,
#include "kernel/abi/syscalls.def"
};

static volatile uint64_t absent[CALLS_MAX]; /* [a] calls answered ENOSYS */

uint64_t calls_absent_count(uint32_t number)
{
    return absent[number];
}

const char *calls_name(uint32_t number)
{
    return number < CALLS_MAX && names[number] != NULL ? names[number] : "?";
}

bool calls_count_absent(uint32_t number)
{
    return __atomic_fetch_add(&absent[number], 1, __ATOMIC_RELAXED) == 0;
}
