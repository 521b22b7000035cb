/* The multiboot2 information structure, as GRUB lays it out and damaged.
 * sources: boot/firmware/multiboot2.c boot/firmware/bootinfo.c */
#include "boot/firmware/multiboot2.h"
#include "kernel/abi/errno.h"
#include "tests/boot/physical.h"
#include "tests/test.h"

#define INFO 0x9500u

static struct physical machine;
static struct bootinfo info;

/* The structure under construction. */
static uint8_t bytes[65536];
static uint32_t length;

static void put(const void *data, uint32_t size)
{
    memcpy(bytes + length, data, size);
    length += size;
}

static void put32(uint32_t value)
{
    put(&value, sizeof(value));
}

static void put64(uint64_t value)
{
    put(&value, sizeof(value));
}

static void pad(void)
{
    while (length % 8 != 0)
        bytes[length++] = 0x5a;
}

static void begin(void)
{
    memset(bytes, 0, sizeof(bytes));
    length = 8;
}

static void tag(uint32_t type, const void *data, uint32_t size)
{
    put32(type);
    put32(8 + size);
    put(data, size);
    pad();
}

static void tag_memory(uint32_t entry_size, uint32_t count, uint32_t type)
{
    put32(6);
    put32(16 + entry_size * count);
    put32(entry_size);
    put32(0);
    for (uint32_t i = 0; i < count; i++) {
        put64(0x100000ull * (i + 1));
        put64(0x80000);
        put32(type);
        put32(0);
        length += entry_size - 24;
    }
    pad();
}

static void tag_module(uint32_t start, uint32_t end)
{
    put32(3);
    put32(16 + 5);
    put32(start);
    put32(end);
    put("name", 5);
    pad();
}

static void end(void)
{
    put32(0);
    put32(8);
}

/* Parses what was built, in an allocation of exactly its size. */
static int parse(void)
{
    struct physmem memory = physical_memory(&machine);

    memcpy(bytes, &length, sizeof(length));
    physical_free(&machine);
    memcpy(physical_add(&machine, INFO, length), bytes, length);
    memset(&info, 0xa5, sizeof(info));
    return multiboot2_parse(&memory, INFO, &info);
}

TEST(whole, "command line, memory map, modules and both RSDP copies are found among tags we skip")
{
    static const uint8_t rsdp[36] = {0};
    struct {
        uint64_t base, size;
        uint32_t type, reserved;
    } map[4] = {
        {0, 0x9fc00, 1, 0},
        {0x9fc00, 0x400, 2, 0},
        {0x100000, 0x7ee0000, 1, 0},
        {0x7fe0000, 0x20000, 3, 0},
    };

    begin();
    tag(2, "GRUB 2.06", 10);
    tag(1, "kernels=node boot=all", 22);
    tag_module(0x200000, 0x2ffff3);
    tag_module(0x300000, 0x300000);
    tag(21, "load", 4);
    put32(6);
    put32(16 + sizeof(map));
    put32(24);
    put32(0);
    put(map, sizeof(map));
    pad();
    uint32_t old = length;
    tag(14, rsdp, 20);
    end();
    CHECK_EQ(parse(), 0);
    CHECK_TEXT(info.cmdline, "kernels=node boot=all");
    CHECK_EQ(info.range_count, 4);
    CHECK_EQ(info.ranges[0].base, 0);
    CHECK_EQ(info.ranges[0].size, 0x9fc00);
    CHECK_EQ(info.ranges[0].kind, BOOT_MEMORY_USABLE);
    CHECK_EQ(info.ranges[1].kind, BOOT_MEMORY_RESERVED);
    CHECK_EQ(info.ranges[2].base, 0x100000);
    CHECK_EQ(info.ranges[3].kind, BOOT_MEMORY_RESERVED);
    CHECK_EQ(info.module_count, 2);
    CHECK_EQ(info.modules[0].base, 0x200000);
    CHECK_EQ(info.modules[0].size, 0xffff3);
    CHECK_EQ(info.modules[1].size, 0);
    CHECK_EQ(info.rsdp, INFO + old + 8);
}

TEST(newer_rsdp, "of two RSDP copies the newer one's address is taken, in either order; without any it is 0")
{
    static const uint8_t rsdp[36] = {0};

    for (int order = 0; order < 2; order++) {
        uint32_t newer = 0;
        begin();
        tag_memory(24, 1, 1);
        for (int i = 0; i < 2; i++) {
            if (i == order)
                newer = length;
            tag(i == order ? 15 : 14, rsdp, i == order ? 36 : 20);
        }
        end();
        CHECK_EQ(parse(), 0);
        CHECK_EQ(info.rsdp, INFO + newer + 8);
    }
    begin();
    tag_memory(24, 1, 1);
    end();
    CHECK_EQ(parse(), 0);
    CHECK_EQ(info.rsdp, 0);
}

TEST(short_rsdp, "an RSDP copy shorter than an RSDP is refused")
{
    static const uint8_t rsdp[36] = {0};

    for (uint32_t type = 14; type <= 15; type++) {
        begin();
        tag_memory(24, 1, 1);
        tag(type, rsdp, type == 14 ? 19 : 35);
        end();
        CHECK_EQ(parse(), -EINVAL);
    }
}

TEST(nothing_given, "without command line and modules there are none; without a memory map it is refused")
{
    begin();
    tag_memory(24, 1, 1);
    end();
    CHECK_EQ(parse(), 0);
    CHECK_TEXT(info.cmdline, "");
    CHECK_EQ(info.module_count, 0);
    begin();
    end();
    CHECK_EQ(parse(), -EINVAL);
}

TEST(entry_size, "memory map entries may grow; smaller ones, and a map of broken entries, are refused")
{
    begin();
    tag_memory(40, 3, 1);
    end();
    CHECK_EQ(parse(), 0);
    CHECK_EQ(info.range_count, 3);
    CHECK_EQ(info.ranges[2].base, 0x300000);
    static const uint32_t sizes[] = {0, 8, 16, 23};
    for (int i = 0; i < 4; i++) {
        begin();
        tag_memory(24, 2, 1);
        memcpy(bytes + 8 + 8, &sizes[i], 4);
        tag_memory(24, 1, 1);
        end();
        CHECK_EQ(parse(), -EINVAL);
    }
    uint32_t odd = 16 + 24 + 23;
    begin();
    tag_memory(24, 2, 1);
    memcpy(bytes + 8 + 4, &odd, 4);
    end();
    CHECK_EQ(parse(), -EINVAL);
}

TEST(short_tags, "a module or memory map tag too short for its fixed part is refused, one of the exact size is not")
{
    static const uint8_t zeros[16] = {0};

    for (uint32_t size = 0; size <= 8; size++) {
        begin();
        tag_memory(24, 1, 1);
        tag(3, zeros, size);
        end();
        CHECK_EQ(parse(), size < 8 ? -EINVAL : 0);
        static const uint32_t entry_size[2] = {24};
        begin();
        tag_memory(24, 1, 1);
        tag(6, entry_size, size);
        end();
        CHECK_EQ(parse(), size < 8 ? -EINVAL : 0);
    }
}

TEST(wrapping_ranges, "an empty range is left out, a wrapping usable one too, a wrapping reserved one is cut")
{
    uint64_t map[3][3] = {
        {0x100000, 0, 1},
        {0xfffffffffff00000, 0x200000, 1},
        {0xfffffffffff00000, 0x200000, 2},
    };

    begin();
    put32(6);
    put32(16 + sizeof(map));
    put32(24);
    put32(0);
    put(map, sizeof(map));
    end();
    CHECK_EQ(parse(), 0);
    CHECK_EQ(info.range_count, 1);
    CHECK_EQ(info.ranges[0].kind, BOOT_MEMORY_RESERVED);
    CHECK_EQ(info.ranges[0].size, 0xfffff);
}

TEST(limits, "ranges and modules up to the limit are taken, one more is -E2BIG")
{
    for (uint32_t extra = 0; extra < 2; extra++) {
        begin();
        tag_memory(24, BOOT_RANGES_MAX, 1);
        if (extra)
            tag_memory(24, 1, 1);
        end();
        CHECK_EQ(parse(), extra ? -E2BIG : 0);

        begin();
        tag_memory(24, 1, 1);
        for (uint32_t i = 0; i < BOOT_MODULES_MAX + extra; i++)
            tag_module(i, i + 1);
        end();
        CHECK_EQ(parse(), extra ? -E2BIG : 0);
    }
}

TEST(command_line_length,
     "a command line that just fits is whole, a longer one -ENAMETOOLONG, one without its end refused")
{
    static char text[BOOT_CMDLINE_MAX + 1];

    memset(text, 'a', BOOT_CMDLINE_MAX);
    begin();
    tag_memory(24, 1, 1);
    tag(1, text, BOOT_CMDLINE_MAX + 1);
    end();
    CHECK_EQ(parse(), -ENAMETOOLONG);
    text[BOOT_CMDLINE_MAX - 1] = '\0';
    begin();
    tag_memory(24, 1, 1);
    tag(1, text, BOOT_CMDLINE_MAX);
    end();
    CHECK_EQ(parse(), 0);
    CHECK_EQ(strlen(info.cmdline), BOOT_CMDLINE_MAX - 1);
    begin();
    tag_memory(24, 1, 1);
    tag(1, "abc", 3);
    end();
    CHECK_EQ(parse(), -EINVAL);
    begin();
    tag_memory(24, 1, 1);
    tag(1, "", 0);
    end();
    CHECK_EQ(parse(), -EINVAL);
}

TEST(backward_module, "a module that ends before it starts is refused")
{
    begin();
    tag_memory(24, 1, 1);
    tag_module(0x2000, 0x1fff);
    end();
    CHECK_EQ(parse(), -EINVAL);
}

TEST(no_end_tag, "a structure without its end tag, misaligned or outside memory is refused")
{
    struct physmem memory = physical_memory(&machine);

    begin();
    tag_memory(24, 1, 1);
    CHECK_EQ(parse(), -EINVAL);
    begin();
    CHECK_EQ(parse(), -EINVAL);
    end();
    CHECK_EQ(multiboot2_parse(&memory, INFO + 4, &info), -EINVAL);
    CHECK_EQ(multiboot2_parse(&memory, 0, &info), -EINVAL);
}

TEST(tag_sizes, "a tag with a size below its header or beyond the structure is refused")
{
    static const uint32_t sizes[] = {0, 7, 1000, 0xffffffff, 0xfffffff8};

    for (int i = 0; i < 5; i++) {
        begin();
        tag_memory(24, 1, 1);
        uint32_t at = length;
        tag(99, "unknown", 8);
        end();
        memcpy(bytes + at + 4, &sizes[i], 4);
        CHECK_EQ(parse(), -EINVAL);
    }
}

TEST(total_size, "every wrong total size is refused or leaves nothing read beyond it")
{
    struct physmem memory = physical_memory(&machine);

    for (uint32_t total = 0; total < 400; total++) {
        begin();
        tag(1, "some command line", 18);
        tag_memory(24, 4, 1);
        tag_module(0x200000, 0x2ffff3);
        end();
        uint32_t whole = length;
        physical_free(&machine);
        memcpy(bytes, &total, sizeof(total));
        uint32_t size = total < whole && total >= 8 ? total : whole;
        memcpy(physical_add(&machine, INFO, size), bytes, size);
        CHECK_EQ(multiboot2_parse(&memory, INFO, &info), total == whole ? 0 : -EINVAL);
    }
}

TEST(flipped_bytes, "any byte changed: no read out of bounds, and counts stay in range")
{
    begin();
    tag(1, "some command line", 18);
    tag_memory(24, 4, 1);
    tag_module(0x200000, 0x2ffff3);
    tag(14, bytes + 100, 20);
    end();
    uint32_t whole = length;
    for (uint32_t at = 0; at < whole; at++) {
        for (int bit = 0; bit < 8; bit++) {
            struct physmem memory = physical_memory(&machine);
            physical_free(&machine);
            memcpy(bytes, &whole, sizeof(whole));
            memcpy(physical_add(&machine, INFO, whole), bytes, whole);
            machine.pieces[0].bytes[at] ^= (uint8_t)(1 << bit);
            if (multiboot2_parse(&memory, INFO, &info) == 0)
                CHECK(info.range_count <= BOOT_RANGES_MAX && info.module_count <= BOOT_MODULES_MAX);
        }
    }
}
