/* The PVH start information, as QEMU lays it out and damaged.
 * sources: boot/firmware/pvh.c boot/firmware/bootinfo.c */
#include "boot/firmware/pvh.h"
#include "kernel/abi/errno.h"
#include "tests/boot/physical.h"
#include "tests/test.h"

#define START 0x6fc0u
#define MODULES 0x8000u
#define MAP 0x9000u
#define TEXT 0xa000u

static struct physical machine;
static struct bootinfo info;

static struct {
    uint32_t magic, version, flags, module_count;
    uint64_t modules, cmdline, rsdp, map;
    uint32_t map_count, reserved;
} start;

static struct {
    uint64_t base, size;
    uint32_t type, reserved;
} map[BOOT_RANGES_MAX + 1];

static struct {
    uint64_t base, size, cmdline, reserved;
} modules[BOOT_MODULES_MAX + 1];

/* A start as QEMU makes one: a map, one module, a command line, no RSDP in a hurry. */
static void begin(void)
{
    memset(map, 0, sizeof(map));
    memset(modules, 0, sizeof(modules));
    memset(&start, 0, sizeof(start));
    start.magic = 0x336ec578;
    start.version = 1;
    start.map = MAP;
    start.map_count = 3;
    start.modules = MODULES;
    start.module_count = 1;
    start.cmdline = TEXT;
    start.rsdp = 0xf5b00;
    map[0].size = 0x9fc00;
    map[0].type = 1;
    map[1].base = 0xfffc0000;
    map[1].size = 0x40000;
    map[1].type = 2;
    map[2].base = 0x100000000;
    map[2].size = 0x40000000;
    map[2].type = 1;
    modules[0].base = 0x7000000;
    modules[0].size = 12345;
}

static int parse(const char *cmdline)
{
    struct physmem memory = physical_memory(&machine);

    physical_free(&machine);
    memcpy(physical_add(&machine, START, sizeof(start)), &start, sizeof(start));
    memcpy(physical_add(&machine, MODULES, sizeof(modules)), modules, sizeof(modules));
    memcpy(physical_add(&machine, MAP, sizeof(map)), map, sizeof(map));
    memcpy(physical_add(&machine, TEXT, strlen(cmdline) + 1), cmdline, strlen(cmdline) + 1);
    memset(&info, 0xa5, sizeof(info));
    return pvh_parse(&memory, START, &info);
}

TEST(whole, "command line, memory map, module and RSDP address are found")
{
    begin();
    CHECK_EQ(parse("kernels=core seed=1"), 0);
    CHECK_TEXT(info.cmdline, "kernels=core seed=1");
    CHECK_EQ(info.rsdp, 0xf5b00);
    CHECK_EQ(info.range_count, 3);
    CHECK_EQ(info.ranges[0].size, 0x9fc00);
    CHECK_EQ(info.ranges[0].kind, BOOT_MEMORY_USABLE);
    CHECK_EQ(info.ranges[1].kind, BOOT_MEMORY_RESERVED);
    CHECK_EQ(info.ranges[2].base, 0x100000000);
    CHECK_EQ(info.module_count, 1);
    CHECK_EQ(info.modules[0].base, 0x7000000);
    CHECK_EQ(info.modules[0].size, 12345);
}

TEST(absent_parts, "address 0 means no command line, a count of 0 no modules")
{
    begin();
    start.cmdline = 0;
    start.module_count = 0;
    start.modules = 0;
    start.rsdp = 0;
    CHECK_EQ(parse("unseen"), 0);
    CHECK_TEXT(info.cmdline, "");
    CHECK_EQ(info.module_count, 0);
    CHECK_EQ(info.rsdp, 0);
}

TEST(identity, "a wrong magic number and version 0 are refused, a later version is taken")
{
    begin();
    start.magic++;
    CHECK_EQ(parse(""), -EINVAL);
    begin();
    start.version = 0;
    CHECK_EQ(parse(""), -EINVAL);
    begin();
    start.version = 2;
    CHECK_EQ(parse(""), 0);
}

TEST(no_map, "no memory map, or one of empty ranges, is refused")
{
    begin();
    start.map_count = 0;
    CHECK_EQ(parse(""), -EINVAL);
    begin();
    start.map_count = 1;
    map[0].size = 0;
    CHECK_EQ(parse(""), -EINVAL);
}

TEST(limits, "ranges and modules up to the limit are taken, one more is -E2BIG")
{
    begin();
    for (uint32_t i = 0; i <= BOOT_RANGES_MAX; i++)
        map[i].size = 1;
    start.map_count = BOOT_RANGES_MAX;
    start.module_count = BOOT_MODULES_MAX;
    CHECK_EQ(parse(""), 0);
    CHECK_EQ(info.range_count, BOOT_RANGES_MAX);
    CHECK_EQ(info.module_count, BOOT_MODULES_MAX);
    start.map_count++;
    CHECK_EQ(parse(""), -E2BIG);
    start.map_count = 0xffffffff;
    CHECK_EQ(parse(""), -E2BIG);
    start.map_count = 3;
    start.module_count++;
    CHECK_EQ(parse(""), -E2BIG);
    start.module_count = 0xffffffff;
    CHECK_EQ(parse(""), -E2BIG);
}

TEST(outside_memory, "lists and texts outside memory are refused")
{
    begin();
    start.map = MAP + sizeof(map) - 71;
    CHECK_EQ(parse(""), -EINVAL);
    begin();
    start.modules = 0xffffffffffffffe0;
    CHECK_EQ(parse(""), -EINVAL);
    begin();
    start.cmdline = 0xffffffffffffffff;
    CHECK_EQ(parse(""), -EINVAL);
    begin();
    parse("text");
    struct physmem memory = physical_memory(&machine);
    memcpy(machine.pieces[3].bytes, "text!", 5); /* over the NUL */
    CHECK_EQ(pvh_parse(&memory, START, &info), -EINVAL);
    CHECK_EQ(pvh_parse(&memory, START + 1, &info), -EINVAL);
}

TEST(command_line_length, "a command line that just fits is whole, a longer one -ENAMETOOLONG")
{
    static char text[BOOT_CMDLINE_MAX + 1];

    memset(text, 'a', BOOT_CMDLINE_MAX);
    begin();
    CHECK_EQ(parse(text), -ENAMETOOLONG);
    text[BOOT_CMDLINE_MAX - 1] = '\0';
    CHECK_EQ(parse(text), 0);
    CHECK_EQ(strlen(info.cmdline), BOOT_CMDLINE_MAX - 1);
}

TEST(wrapping_module, "a module that wraps is refused")
{
    begin();
    modules[0].base = 0xfffffffffffff000;
    modules[0].size = 0x1001;
    CHECK_EQ(parse(""), -EINVAL);
}
