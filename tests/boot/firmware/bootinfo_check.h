/* What must hold for every struct bootinfo that a parser returns. */
#ifndef TESTS_BOOT_BOOTINFO_CHECK_H
#define TESTS_BOOT_BOOTINFO_CHECK_H

#include "boot/firmware/bootinfo.h"
#include "kernel/abi/errno.h"
#include "tests/fuzz/fuzz.h"

static inline void bootinfo_check(const struct bootinfo *info, int error)
{
    REQUIRE(error == 0 || error == -EINVAL || error == -E2BIG || error == -ENAMETOOLONG);
    if (error)
        return;
    REQUIRE(info->range_count > 0 && info->range_count <= BOOT_RANGES_MAX);
    REQUIRE(info->module_count <= BOOT_MODULES_MAX);
    REQUIRE(memchr(info->cmdline, '\0', sizeof(info->cmdline)));
    for (uint32_t i = 0; i < info->range_count; i++) {
        REQUIRE(info->ranges[i].size > 0 && info->ranges[i].size <= UINT64_MAX - info->ranges[i].base);
        REQUIRE(info->ranges[i].kind == BOOT_MEMORY_USABLE || info->ranges[i].kind == BOOT_MEMORY_RESERVED);
    }
    for (uint32_t i = 0; i < info->module_count; i++)
        REQUIRE(info->modules[i].size <= UINT64_MAX - info->modules[i].base);
}

#endif
