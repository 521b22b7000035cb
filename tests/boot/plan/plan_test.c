/* The partition plan: its rules one by one.
 * sources: boot/plan/plan.c boot/plan/cpus.c boot/plan/free.c boot/plan/memory.c */
#include "tests/boot/plan/machine.h"

TEST(by_core, "core, nothing and the empty option give one kernel a CPU, in the CPUs' order")
{
    static const char *const options[] = {"core", "", NULL};

    for (int i = 0; i < 3; i++) {
        machine(2, 4);
        memory(0, 16 * MIB, 64 * MIB);
        memory(1, 80 * MIB, 64 * MIB);
        CHECK_EQ(compute(options[i]), 0);
        CHECK_EQ(plan.kernel_count, 8);
        for (uint32_t k = 0; k < 8; k++) {
            CHECK_EQ(plan.kernels[k].boot_cpu, k);
            CHECK_EQ(plan.kernels[k].node, k / 4);
        }
    }
}

TEST(boot_cpu_first, "the boot CPU is CPU 0 of kernel 0 wherever the firmware lists it, the others keep their order")
{
    machine(2, 2);
    memory(0, 16 * MIB, 64 * MIB);
    memory(1, 80 * MIB, 64 * MIB);
    input.boot_apic_id = 2;
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.cpus[0].apic_id, 2);
    CHECK_EQ(plan.cpus[1].apic_id, 0);
    CHECK_EQ(plan.cpus[2].apic_id, 1);
    CHECK_EQ(plan.cpus[3].apic_id, 3);
    CHECK_EQ(plan.kernels[0].node, 1);
    CHECK_EQ(compute("node"), 0);
    CHECK_EQ(plan.kernel_count, 2);
    CHECK_EQ(plan.kernels[0].node, 1);
    CHECK_EQ(plan.cpus[3].kernel, 0);
    CHECK_EQ(plan.kernels[1].node, 0);
    CHECK_EQ(compute("3"), 0);
    CHECK_EQ(plan.cpus[0].kernel, 0);
    CHECK_EQ(plan.cpus[3].kernel, 0); /* the boot CPU's node comes first */
    CHECK_EQ(plan.cpus[1].kernel, 1);
    CHECK_EQ(plan.cpus[2].kernel, 2);
}

TEST(boot_cpu_unknown, "a boot CPU that the firmware does not list is refused")
{
    machine(1, 2);
    memory(0, 16 * MIB, 64 * MIB);
    input.boot_apic_id = 9;
    expect_error("core", -EINVAL, "APIC id 9");
}

TEST(no_topology, "without any CPU known the boot CPU alone makes one kernel")
{
    machine(1, 0);
    map(16 * MIB, 64 * MIB, BOOT_MEMORY_USABLE);
    input.boot_apic_id = 77;
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.cpu_count, 1);
    CHECK_EQ(plan.cpus[0].apic_id, 77);
    CHECK_EQ(plan.kernels[0].memory, 64 * MIB);
    CHECK_EQ(compute("node"), 0);
    CHECK_EQ(compute("1"), 0);
    CHECK_EQ(compute("0"), -EINVAL);
    CHECK_EQ(compute("0-0"), 0);
    CHECK_EQ(compute("2"), -EINVAL);
}

TEST(by_node, "node gives one kernel for each node with CPUs, and none for one without")
{
    machine(4, 2);
    for (uint32_t node = 0; node < 4; node++)
        memory(node, (16 + 64 * node) * MIB, 64 * MIB);
    topology.cpus[2].node = 3;
    topology.cpus[3].node = 3;
    CHECK_EQ(compute("node"), 0);
    CHECK_EQ(plan.kernel_count, 3);
    CHECK_EQ(plan.kernels[1].node, 2);
    CHECK_EQ(plan.kernels[2].node, 3);
    CHECK_EQ(plan.kernels[2].cpu_count, 4);
    CHECK_EQ(plan.kernels[2].boot_cpu, 2);
}

TEST(by_number, "N cuts the CPUs, ordered by node, into N runs, the longer ones first")
{
    machine(2, 4);
    memory(0, 16 * MIB, 64 * MIB);
    memory(1, 80 * MIB, 64 * MIB);
    for (uint32_t i = 0; i < 8; i++)
        topology.cpus[i].node = i % 2;
    static const int8_t expected[8][8] = {
        {0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 0, 1, 0, 1, 0, 1}, {0, 1, 0, 1, 0, 2, 1, 2}, {0, 2, 0, 2, 1, 3, 1, 3},
        {0, 2, 0, 2, 1, 3, 1, 4}, {0, 2, 0, 3, 1, 4, 1, 5}, {0, 3, 0, 4, 1, 5, 2, 6}, {0, 4, 1, 5, 2, 6, 3, 7},
    };
    for (uint32_t count = 1; count <= 8; count++) {
        char option[4];
        snprintf(option, sizeof(option), "%u", count);
        CHECK_EQ(compute(option), 0);
        CHECK_EQ(plan.kernel_count, count);
        for (uint32_t cpu = 0; cpu < 8; cpu++)
            CHECK_EQ(plan.cpus[cpu].kernel, expected[count - 1][cpu]);
    }
}

TEST(bad_numbers, "a number of kernels of 0, above the CPUs or above the limit is refused")
{
    machine(1, 200);
    memory(0, 16 * MIB, GIB);
    expect_error("0", -EINVAL, "at least one");
    expect_error("201", -EINVAL, "there are 200 CPUs");
    expect_error("65", -E2BIG, "at most 64");
    expect_error("core", -E2BIG, "at most 64");
    CHECK_EQ(compute("64"), 0);
    expect_error("99999999999999999999", -EINVAL, "neither");
}

TEST(by_list, "a list gives one kernel for each CPU or range, and leaves the CPUs out that it does not name")
{
    machine(2, 4);
    memory(0, 16 * MIB, 64 * MIB);
    memory(1, 80 * MIB, 64 * MIB);
    CHECK_EQ(compute("0-1,4,6-7"), 0);
    CHECK_EQ(plan.kernel_count, 3);
    static const int8_t expected[8] = {0, 0, -1, -1, 1, -1, 2, 2};
    for (uint32_t cpu = 0; cpu < 8; cpu++)
        CHECK_EQ(plan.cpus[cpu].kernel, expected[cpu]);
    CHECK_EQ(compute("0-7"), 0);
    CHECK_EQ(plan.kernel_count, 1);
    CHECK_EQ(compute("0,5"), 0);
    CHECK_EQ(plan.kernel_count, 2);
    CHECK_EQ(owned(0, 0), 64 * MIB);
    CHECK_EQ(owned(1, 1), 64 * MIB);
    CHECK_EQ(compute("0-0,00007-7"), 0);
}

TEST(bad_lists, "a malformed list, a CPU twice or unknown, and CPU 0 elsewhere than first are refused")
{
    static const char *const malformed[] = {
        "cores", "Core",  "0-", "-1",  ",",   "0,",  "0,,1",  "0-1-2", "3-1", "0 -1",      " 1",
        "0-1;",  "0x1,2", "+1", "1.0", "0:3", "all", "0-1,a", "-",     "1 ",  "node,core", "0-99999999999"};

    machine(1, 4);
    memory(0, 16 * MIB, 64 * MIB);
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        expect_error(malformed[i], -EINVAL, "neither");
    expect_error("0-1,1-2", -EINVAL, "CPU 1 is in the list twice");
    expect_error("0-1,4", -EINVAL, "no CPU 4");
    expect_error("0-99999", -EINVAL, "no CPU 99999");
    expect_error("1-2,0", -EINVAL, "CPU 0 must be in the first");
    expect_error("1,2", -EINVAL, "CPU 0 must be in the first");
}

TEST(list_limit, "a list of as many kernels as possible is taken, one more is -E2BIG")
{
    char list[512] = "0";

    machine(1, 80);
    memory(0, 16 * MIB, GIB);
    for (int i = 1; i < KERNELS_MAX; i++)
        sprintf(list + strlen(list), ",%d", i);
    CHECK_EQ(compute(list), 0);
    CHECK_EQ(plan.kernel_count, KERNELS_MAX);
    strcat(list, ",64");
    expect_error(list, -E2BIG, "more than 64");
}

/* Which memory they get. */

TEST(low_memory, "memory below 1 MiB, busy memory and reserved memory is never given out, in whole pages")
{
    machine(1, 1);
    map(0, 32 * MIB, BOOT_MEMORY_USABLE);
    map(8 * MIB + 5, 1, BOOT_MEMORY_RESERVED);
    hold(12 * MIB - 1, 2);
    hold(20 * MIB, 0);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.range_count, 3);
    CHECK_EQ(plan.ranges[0].base, MIB);
    CHECK_EQ(plan.ranges[0].size, 7 * MIB);
    CHECK_EQ(plan.ranges[1].base, 8 * MIB + PAGE_SIZE);
    CHECK_EQ(plan.ranges[1].size, 4 * MIB - 2 * PAGE_SIZE);
    CHECK_EQ(plan.ranges[2].base, 12 * MIB + PAGE_SIZE);
    CHECK_EQ(plan.ranges[2].base + plan.ranges[2].size, 32 * MIB);
}

TEST(odd_map, "an unsorted map with overlaps and odd ends: reserved wins, ends are rounded inward")
{
    machine(1, 1);
    map(40 * MIB, 8 * MIB + 100, BOOT_MEMORY_USABLE);
    map(4 * MIB + 1, 16 * MIB, BOOT_MEMORY_USABLE);
    map(10 * MIB, 4 * MIB, BOOT_MEMORY_USABLE);
    map(44 * MIB, GIB, BOOT_MEMORY_RESERVED);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.range_count, 2);
    CHECK_EQ(plan.ranges[0].base, 4 * MIB + PAGE_SIZE);
    CHECK_EQ(plan.ranges[0].size, 16 * MIB - PAGE_SIZE);
    CHECK_EQ(plan.ranges[1].base, 40 * MIB);
    CHECK_EQ(plan.ranges[1].size, 4 * MIB);
}

TEST(whole_address_space, "ranges up to the end of the address space do not wrap around")
{
    machine(1, 2);
    map(0, UINT64_MAX, BOOT_MEMORY_USABLE);
    affinity(0, 0, UINT64_MAX);
    hold(UINT64_MAX - 10, 10);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.range_count, 2);
    CHECK_EQ(plan.ranges[0].base, MIB);
    CHECK_EQ(plan.ranges[1].base + plan.ranges[1].size, 0xfffffffffffff000);
    map(0xffffffffffff0000, 0xffff, BOOT_MEMORY_RESERVED);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.ranges[1].base + plan.ranges[1].size, 0xffffffffffff0000);
}

TEST(unmentioned_memory, "memory that SRAT does not mention belongs to node 0, a node's part ends where SRAT's does")
{
    machine(2, 1);
    map(16 * MIB, 64 * MIB, BOOT_MEMORY_USABLE);
    affinity(1, 32 * MIB, 16 * MIB + 1);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.range_count, 3);
    CHECK_EQ(plan.ranges[0].kernel, 0);
    CHECK_EQ(plan.ranges[1].node, 1);
    CHECK_EQ(plan.ranges[1].kernel, 1);
    CHECK_EQ(plan.ranges[1].base, 32 * MIB);
    CHECK_EQ(plan.ranges[1].size, 16 * MIB + PAGE_SIZE); /* the page that begins inside */
    CHECK_EQ(plan.ranges[2].node, 0);
    CHECK_EQ(plan.ranges[2].kernel, 0);
}

TEST(high_memory, "memory above 4 GiB is given out on its nodes")
{
    machine(2, 2);
    memory(0, 16 * MIB, 2 * GIB);
    memory(0, 4 * GIB, GIB);
    memory(1, 5 * GIB, 3 * GIB);
    CHECK_EQ(compute("node"), 0);
    CHECK_EQ(plan.kernels[0].memory, 3 * GIB);
    CHECK_EQ(plan.kernels[1].memory, 3 * GIB);
    CHECK_EQ(plan.kernels[1].chunk, 5 * GIB);
    CHECK_EQ(plan.kernels[0].chunk, 16 * MIB);
}

TEST(even_shares, "kernels on a node share it evenly to 2 MiB and are cut there; small shares are even to a page")
{
    for (uint32_t cpus = 1; cpus <= KERNELS_MAX; cpus++) {
        machine(1, cpus);
        memory(0, 3 * MIB + 3 * PAGE_SIZE, 1234 * MIB + 5 * PAGE_SIZE);
        CHECK_EQ(compute("core"), 0);
        CHECK_EQ(plan.range_count, cpus);
        uint64_t share = (1234 * MIB + 5 * PAGE_SIZE) / cpus;
        for (uint32_t k = 0; k < cpus; k++) {
            CHECK(plan.kernels[k].memory + 2 * MIB > share && plan.kernels[k].memory < share + 2 * MIB);
            CHECK(k == 0 || plan.ranges[k].base % (2 * MIB) == 0);
            uint64_t even = 3 * MIB + 3 * PAGE_SIZE + share * k;
            CHECK(plan.ranges[k].base <= even + MIB && even <= plan.ranges[k].base + MIB + PAGE_SIZE);
        }
    }
    machine(1, 64);
    memory(0, 16 * MIB, 128 * MIB - 3 * PAGE_SIZE);
    CHECK_EQ(compute("core"), 0);
    for (uint32_t k = 0; k < 64; k++)
        CHECK(2 * MIB - plan.kernels[k].memory <= PAGE_SIZE);
}

TEST(shares_over_holes, "a share may consist of ranges on both sides of a hole, and cuts fall on the hole's edge")
{
    machine(1, 2);
    memory(0, 16 * MIB, 30 * MIB);
    memory(0, 64 * MIB, 10 * MIB);
    memory(0, 80 * MIB, 24 * MIB);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.range_count, 4);
    CHECK_EQ(plan.kernels[0].memory, 32 * MIB);
    CHECK_EQ(plan.kernels[1].memory, 32 * MIB);
    CHECK_EQ(plan.ranges[2].base, 66 * MIB);
    machine(1, 2);
    memory(0, 17 * MIB, 31 * MIB);
    memory(0, 65 * MIB, 31 * MIB);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.range_count, 2);
    machine(1, 2); /* the even cut is 20 MiB into the second range */
    memory(0, 16 * MIB, 20 * MIB);
    memory(0, 65 * MIB, 60 * MIB);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.ranges[2].base, 84 * MIB);
    machine(1, 2); /* a quarter MiB into the second range, whose start is nearer than a 2 MiB boundary */
    memory(0, 16 * MIB, 32 * MIB);
    memory(0, 64 * MIB + MIB / 2, 32 * MIB + MIB / 2);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.range_count, 2);
    machine(1, 2); /* a quarter MiB before the end of the first */
    memory(0, 17 * MIB + MIB / 2, 32 * MIB + MIB / 4);
    memory(0, 64 * MIB, 32 * MIB - MIB / 4);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.range_count, 2);
}

TEST(interleaved_nodes, "ranges of several nodes in any order of addresses are shared node by node")
{
    machine(2, 2);
    memory(1, 16 * MIB, 24 * MIB);
    memory(0, 40 * MIB, 8 * MIB);
    memory(1, 48 * MIB, 40 * MIB);
    memory(0, 88 * MIB, 56 * MIB);
    memory(1, 144 * MIB, 8 * MIB);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.range_count, 7);
    CHECK_EQ(owned(0, 0), 32 * MIB);
    CHECK_EQ(owned(1, 0), 32 * MIB);
    CHECK_EQ(owned(2, 1), 36 * MIB);
    CHECK_EQ(owned(3, 1), 36 * MIB);
    CHECK_EQ(plan.kernels[2].chunk, 16 * MIB);
    CHECK_EQ(plan.kernels[3].chunk, 60 * MIB);
    machine(2, 2); /* tight: each node has just room for its two chunks */
    input.chunk_size = 9 * MIB;
    memory(1, 16 * MIB, 10 * MIB);
    memory(0, 40 * MIB, 10 * MIB);
    memory(1, 64 * MIB, 10 * MIB);
    memory(0, 80 * MIB, 10 * MIB);
    CHECK_EQ(compute("core"), 0);
}

TEST(choice_of_home, "a kernel that can start on either of two nodes leaves the one to a kernel that cannot")
{
    machine(2, 1);
    input.chunk_size = 8 * MIB;
    topology.cpus[topology.cpu_count++] = (struct acpi_cpu){.apic_id = 2, .node = 0};
    memory(0, 16 * MIB, 10 * MIB);
    memory(1, 64 * MIB, 10 * MIB);
    CHECK_EQ(compute("0-1,2"), 0);
    CHECK_EQ(plan.kernels[0].chunk, 64 * MIB);
    CHECK(plan.kernels[1].chunk < 64 * MIB);
}

TEST(chunk_moves_cut, "a cut moves where an even one would leave a kernel no room for its chunk in one piece")
{
    machine(1, 2);
    input.chunk_size = 20 * MIB;
    memory(0, 16 * MIB, 30 * MIB);
    memory(0, 64 * MIB, 22 * MIB); /* the even cut, 26 MiB, leaves 4 and 22 */
    CHECK_EQ(compute("core"), 0);
    machine(1, 2);
    input.chunk_size = 20 * MIB;
    memory(0, 16 * MIB, 10 * MIB);
    memory(0, 64 * MIB, 10 * MIB);
    memory(0, 80 * MIB, 41 * MIB); /* the even cut leaves kernel 0 pieces of 10, 10 and 10.5 */
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.kernels[0].memory, 40 * MIB);
    machine(1, 2);
    input.chunk_size = 20 * MIB;
    memory(0, 16 * MIB, 20 * MIB);
    memory(0, 64 * MIB, 20 * MIB);
    memory(0, 96 * MIB, 19 * MIB);
    CHECK_EQ(compute("core"), 0);
    machine(2, 2); /* what lies on another node is no room, neither before nor behind */
    input.chunk_size = 20 * MIB;
    memory(1, 16 * MIB, 64 * MIB);
    memory(0, 128 * MIB, 10 * MIB);
    memory(0, 144 * MIB, 10 * MIB);
    memory(0, 160 * MIB, 41 * MIB);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.kernels[0].memory, 40 * MIB);
    machine(2, 2);
    input.chunk_size = 20 * MIB;
    memory(0, 16 * MIB, 41 * MIB);
    memory(0, 64 * MIB, 10 * MIB);
    memory(0, 80 * MIB, 10 * MIB);
    memory(1, 128 * MIB, 64 * MIB);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.kernels[0].memory, 21 * MIB);
    machine(1, 3);
    input.chunk_size = 20 * MIB;
    memory(0, 16 * MIB, 39 * MIB);
    memory(0, 64 * MIB, 39 * MIB);
    expect_error("core", -ENOMEM, "chunk of 20480 KiB");
}

TEST(tight_fit, "as many kernels as chunks fit get one each, one chunk less is -ENOMEM naming the kernel")
{
    machine(1, 16);
    input.chunk_size = 3 * MIB;
    memory(0, 16 * MIB, 48 * MIB);
    CHECK_EQ(compute("core"), 0);
    hold(16 * MIB, 1);
    expect_error("core", -ENOMEM, "kernel 15 on node 0");
}

TEST(no_memory, "without any memory it is -ENOMEM")
{
    machine(2, 1);
    expect_error("core", -ENOMEM, "kernel 0");
    map(0, MIB, BOOT_MEMORY_USABLE);
    expect_error("1", -ENOMEM, "kernel 0");
}

TEST(node_without_cpus, "memory of a node without CPUs goes to the nearest kernels, and stays that node's")
{
    machine(3, 2);
    topology.cpu_count = 4; /* node 2 has none */
    memory(0, 16 * MIB, 64 * MIB);
    memory(1, 128 * MIB, 64 * MIB);
    memory(2, 256 * MIB, 64 * MIB);
    topology.distance[1][2] = 15;
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(owned(2, 2), 32 * MIB);
    CHECK_EQ(owned(3, 2), 32 * MIB);
    CHECK_EQ(owned(0, 0), 32 * MIB);
    topology.distance[1][2] = 20; /* as far as from node 0: the lower number wins */
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(owned(0, 2), 32 * MIB);
    CHECK_EQ(owned(1, 2), 32 * MIB);
    CHECK_EQ(compute("0,1"), 0); /* node 1 has CPUs, but in no kernel */
    CHECK_EQ(owned(0, 1) + owned(1, 1), 64 * MIB);
}

TEST(node_without_memory, "a kernel on a node without memory shares the nearest node that has some")
{
    machine(3, 1);
    memory(0, 16 * MIB, 64 * MIB);
    memory(2, 128 * MIB, 64 * MIB);
    topology.distance[1][2] = 12;
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(owned(0, 0), 64 * MIB);
    CHECK_EQ(owned(1, 2), 32 * MIB);
    CHECK_EQ(owned(2, 2), 32 * MIB);
    topology.distance[1][2] = 20;
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(owned(1, 0), 32 * MIB);
    CHECK_EQ(owned(2, 2), 64 * MIB);
    machine(2, 1);
    memory(1, 16 * MIB, 64 * MIB);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(owned(0, 1), 32 * MIB);
}

TEST(crowded_lender, "a kernel without memory goes past a node that has no room for one more chunk")
{
    machine(3, 1);
    input.chunk_size = 8 * MIB;
    memory(0, 16 * MIB, 15 * MIB);
    memory(2, 128 * MIB, 64 * MIB);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(owned(0, 0), 15 * MIB);
    CHECK_EQ(owned(1, 2), 32 * MIB);
}

TEST(spanning_kernel, "a kernel over several nodes shares each, and its chunk is on its first CPU's node if it can be")
{
    machine(4, 2);
    for (uint32_t node = 0; node < 4; node++)
        memory(node, (512 - 128 * node) * MIB, 64 * MIB); /* the highest addresses on node 0 */
    CHECK_EQ(compute("1"), 0);
    CHECK_EQ(plan.kernels[0].memory, 256 * MIB);
    CHECK_EQ(plan.kernels[0].chunk, 512 * MIB);
    CHECK_EQ(compute("3"), 0); /* CPUs 0-2, 3-5, 6-7 */
    CHECK_EQ(owned(0, 1), 32 * MIB);
    CHECK_EQ(owned(1, 1), 32 * MIB);
    CHECK_EQ(owned(1, 2), 64 * MIB);
    CHECK_EQ(owned(2, 3), 64 * MIB);
}

TEST(small_second_node, "a kernel over two nodes needs room for its chunk on one of them only")
{
    machine(2, 1);
    input.chunk_size = 8 * MIB;
    memory(0, 16 * MIB, 2 * MIB);
    memory(1, 128 * MIB, 64 * MIB);
    CHECK_EQ(compute("1"), 0);
    CHECK_EQ(plan.kernels[0].chunk, 128 * MIB);
    CHECK_EQ(plan.kernels[0].memory, 66 * MIB);
}

TEST(large_machine, "64 CPUs on 8 nodes, by core and by node; 256 CPUs on 64 nodes as 64 kernels")
{
    machine(8, 8);
    for (uint32_t node = 0; node < 8; node++)
        memory(node, (16 + 512 * node) * MIB, 512 * MIB);
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.kernel_count, 64);
    for (uint32_t k = 0; k < 64; k++)
        CHECK_EQ(plan.kernels[k].memory, 64 * MIB);
    CHECK_EQ(compute("node"), 0);
    CHECK_EQ(plan.kernel_count, 8);
    machine(64, 4);
    for (uint32_t node = 0; node < 64; node++)
        memory(node, (16 + 64 * node) * MIB, 64 * MIB);
    CHECK_EQ(compute("node"), 0);
    CHECK_EQ(plan.kernel_count, 64);
}

TEST(range_limit, "as many ranges as there is room for are taken, one more is -E2BIG")
{
    static struct boot_range many[PLAN_RANGES_MAX + 1];

    machine(1, 1);
    for (uint64_t i = 0; i <= PLAN_RANGES_MAX; i++)
        many[i] = (struct boot_range){(2 + i) * MIB, 5 * PAGE_SIZE, BOOT_MEMORY_USABLE};
    input.chunk_size = PAGE_SIZE;
    input.ranges = many;
    input.range_count = PLAN_RANGES_MAX;
    CHECK_EQ(compute("core"), 0);
    CHECK_EQ(plan.range_count, PLAN_RANGES_MAX);
    input.range_count++;
    expect_error("core", -E2BIG, "more than 512 ranges");
    machine(1, 3); /* two cuts, both inside ranges */
    input.chunk_size = PAGE_SIZE;
    input.ranges = many;
    input.range_count = PLAN_RANGES_MAX - 1;
    expect_error("core", -E2BIG, "more than 512 ranges");
}

TEST(bad_input, "a topology or chunk that cannot be is refused")
{
    machine(1, 1);
    memory(0, 16 * MIB, 64 * MIB);
    input.chunk_size = 0;
    expect_error("core", -EINVAL, "whole pages");
    input.chunk_size = 4097;
    expect_error("core", -EINVAL, "whole pages");
    input.chunk_size = MIB;
    topology.cpus[0].node = 1;
    expect_error("core", -EINVAL, "unknown node 1");
    topology.cpus[0].node = 0;
    topology.memory[0].node = 1;
    expect_error("core", -EINVAL, "unknown node 1");
    topology.memory[0].node = 0;
    topology.node_count = NODES_MAX + 1;
    expect_error("core", -EINVAL, "65 nodes");
    topology.node_count = 0;
    expect_error("core", -EINVAL, "0 nodes");
    topology.node_count = 1;
    topology.cpu_count = CPUS_MAX + 1;
    expect_error("core", -EINVAL, "257 CPUs");
}

TEST(no_error_text, "a caller without room for the text of an error gets the error all the same")
{
    machine(1, 1);
    input.kernels = "nonsense";
    CHECK_EQ(plan_compute(&input, &plan, NULL, 0), -EINVAL);
    char one = 'x';
    CHECK_EQ(plan_compute(&input, &plan, &one, 1), -EINVAL);
    CHECK_EQ(one, '\0');
}

TEST(text, "the plan as text: a line for all and a line a kernel, CPUs as a list, cut like snprintf")
{
    static const char expected[] = "3 kernels, 8 cpus, 2 nodes, 128 MiB\n"
                                   "kernel 0 cpus 0-1 node 0 memory 64 MiB\n"
                                   "kernel 1 cpus 4 node 1 memory 32 MiB\n"
                                   "kernel 2 cpus 6-7 node 1 memory 32 MiB\n";
    char out[sizeof(expected) + 10];

    machine(2, 4);
    memory(0, 16 * MIB, 64 * MIB);
    memory(1, 80 * MIB, 64 * MIB);
    CHECK_EQ(compute("0-1,4,6-7"), 0);
    CHECK_EQ(plan_format(&plan, out, sizeof(out)), sizeof(expected) - 1);
    CHECK_TEXT(out, expected);
    CHECK_EQ(plan_format(&plan, NULL, 0), sizeof(expected) - 1);
    for (size_t size = 1; size < sizeof(expected); size++) {
        memset(out, 'x', sizeof(out));
        CHECK_EQ(plan_format(&plan, out, size), sizeof(expected) - 1);
        CHECK(strlen(out) == size - 1 && memcmp(out, expected, size - 1) == 0 && out[size] == 'x');
    }
    topology.cpus[1].node = 1; /* a run broken by CPUs of another kernel */
    CHECK_EQ(compute("node"), 0);
    plan_format(&plan, out, sizeof(out));
    CHECK(strstr(out, "kernel 1 cpus 1,4-7 node 1"));
}
