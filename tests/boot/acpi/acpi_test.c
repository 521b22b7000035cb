/* Topology discovery on tables that the tests build.
 * sources: boot/acpi/acpi.c boot/acpi/tables.c boot/acpi/madt.c boot/acpi/srat.c boot/acpi/slit.c */
#include "tests/boot/acpi/discover.h"

TEST(search_bios_area, "without an address the RSDP is found in the BIOS area at any 16-byte boundary")
{
    struct table madt = madt_of(2);
    struct table *tables[] = {&madt};

    physical_free(&machine);
    uint64_t rsdp = build_machine(&machine, 0, tables, 1);
    uint8_t *area = physical_add(&machine, 0xe0000, 0x20000);
    for (uint32_t at = 0; at < 0x20000; at += 0x1fff0) {
        memset(area, 0, 0x20000);
        memcpy(area + at, physical_map(&machine, rsdp, 16), 16);
        if (at + 20 <= 0x20000)
            memcpy(area + at, physical_map(&machine, rsdp, 20), 20);
        CHECK_EQ(discover(0), at + 20 <= 0x20000 ? 0 : -ENOENT);
    }
    memset(area, 0, 0x20000);
    memcpy(area + 8, physical_map(&machine, rsdp, 20), 20);
    CHECK_EQ(discover(0), -ENOENT);
}

TEST(search_ebda, "without an address the RSDP is found in the first KiB of the extended BIOS data area")
{
    struct table madt = madt_of(3);
    struct table *tables[] = {&madt};
    static const uint16_t segment = 0x9fc0;

    physical_free(&machine);
    uint64_t rsdp = build_machine(&machine, 2, tables, 1);
    memcpy(physical_add(&machine, 0x40e, 2), &segment, 2);
    uint8_t *ebda = physical_add(&machine, 0x9fc00, 0x400);
    memcpy(ebda + 0x3d0, physical_map(&machine, rsdp, 36), 36);
    CHECK_EQ(discover(0), 0);
    CHECK_EQ(found.cpu_count, 3);
}

TEST(rsdp_fallback, "a wrong RSDP address is reported and the BIOS area searched")
{
    struct table madt = madt_of(1);
    struct table *tables[] = {&madt};

    physical_free(&machine);
    uint64_t rsdp = build_machine(&machine, 0, tables, 1);
    memcpy(physical_add(&machine, 0xf0000, 20), physical_map(&machine, rsdp, 20), 20);
    CHECK_EQ(discover(0x7000), 0);
    expect_report("no valid RSDP at 0x7000");
}

TEST(no_rsdp, "without an RSDP: -ENOENT and a topology of no CPUs")
{
    physical_free(&machine);
    CHECK_EQ(discover(0), -ENOENT);
    CHECK_EQ(found.cpu_count, 0);
    CHECK_EQ(found.node_count, 1);
    expect_report("no RSDP found");
}

TEST(rsdp_checksums, "a revision 2 RSDP needs both its checksums, a revision 0 one the first only")
{
    struct table madt = madt_of(1);
    struct table *tables[] = {&madt};

    for (int revision = 0; revision <= 2; revision += 2) {
        physical_free(&machine);
        uint64_t rsdp = build_machine(&machine, revision, tables, 1);
        uint8_t *bytes = machine.pieces[0].bytes;
        CHECK_EQ(discover(rsdp), 0);
        bytes[8]++;
        CHECK_EQ(discover(rsdp), -ENOENT);
        bytes[8]--;
        bytes[20] = 35; /* shorter than an RSDP, though its bytes sum to zero */
        build_sum(bytes, 36, 32);
        bytes[32] = (uint8_t)(bytes[32] + bytes[35]);
        CHECK_EQ(discover(rsdp), revision == 0 ? 0 : -ENOENT);
        bytes[20] = 36;
        build_sum(bytes, 36, 32);
        bytes[33]++; /* reserved: only the extended checksum covers it */
        CHECK_EQ(discover(rsdp), revision == 0 ? 0 : -ENOENT);
    }
}

TEST(xsdt_first, "the XSDT is used where there is one, the RSDT when the XSDT is damaged")
{
    struct table madt = madt_of(4);
    struct table *tables[] = {&madt};

    physical_free(&machine);
    uint64_t rsdp = build_machine(&machine, 2, tables, 1);
    CHECK_EQ(discover(rsdp), 0);
    expect_nothing_reported();
    uint8_t *rsdt = build_find(&machine, "RSDT");
    uint8_t *xsdt = build_find(&machine, "XSDT");
    rsdt[20]++;
    CHECK_EQ(discover(rsdp), 0);
    expect_nothing_reported();
    rsdt[20]--;
    xsdt[20]++;
    CHECK_EQ(discover(rsdp), 0);
    expect_report("XSDT");
    CHECK_EQ(found.cpu_count, 4);
    rsdt[20]++;
    CHECK_EQ(discover(rsdp), -ENOENT);
}

TEST(root_length, "a root table whose length is not whole entries, or absurd, is ignored")
{
    struct table madt = madt_of(1);
    struct table *tables[] = {&madt};

    physical_free(&machine);
    uint64_t rsdp = build_machine(&machine, 0, tables, 1);
    uint8_t *rsdt = build_find(&machine, "RSDT");
    build_put32(rsdt + 4, 39);
    build_repair(rsdt, 39);
    CHECK_EQ(discover(rsdp), -ENOENT);
    build_put32(rsdt + 4, 0xffffffff);
    CHECK_EQ(discover(rsdp), -ENOENT);
    build_put32(rsdt + 4, 0);
    CHECK_EQ(discover(rsdp), -ENOENT);
}

TEST(second_table, "of two tables with one name the first is used, the first good one when one is damaged")
{
    struct table one = madt_of(1);
    struct table two = madt_of(2);
    struct table *tables[] = {&one, &two};

    physical_free(&machine);
    uint64_t rsdp = build_machine(&machine, 2, tables, 2);
    CHECK_EQ(discover(rsdp), 0);
    CHECK_EQ(found.cpu_count, 1);
    expect_report("second APIC ignored");
    build_find(&machine, "APIC")[12]++;
    CHECK_EQ(discover(rsdp), 0);
    CHECK_EQ(found.cpu_count, 2);
    expect_report("bad checksum");
}

TEST(unreadable_table, "a listed table outside readable memory is reported and the others are used")
{
    struct table madt = madt_of(1);
    struct table srat = srat_start(3);
    struct table *tables[] = {&madt, &srat};

    physical_free(&machine);
    uint64_t rsdp = build_machine(&machine, 0, tables, 2);
    uint8_t *rsdt = build_find(&machine, "RSDT");
    build_put32(rsdt + 40, 0xfffffff0);
    build_repair(rsdt, 44);
    CHECK_EQ(discover(rsdp), 0);
    expect_report("outside readable memory");
}

/* MADT. */

TEST(no_madt, "without a MADT: -ENOENT")
{
    CHECK_EQ(discover_built(NULL, NULL, NULL), -ENOENT);
    expect_report("no usable MADT");
}

TEST(cpu_flags, "only enabled CPUs count: an online-capable one does not, nor the broadcast addresses")
{
    struct table madt = madt_start(0xfee00000);

    madt_lapic(&madt, 1, 10, 0);
    madt_lapic(&madt, 2, 11, 2);
    madt_lapic(&madt, 3, 12, 3);
    madt_lapic(&madt, 4, 255, 1);
    madt_x2apic(&madt, 5, 0xffffffff, 1);
    madt_x2apic(&madt, 6, 500, 2);
    madt_x2apic(&madt, 7, 501, 1);
    CHECK_EQ(discover_built(&madt, NULL, NULL), 0);
    CHECK_EQ(found.cpu_count, 2);
    CHECK_EQ(found.cpus[0].apic_id, 12);
    CHECK_EQ(found.cpus[0].uid, 3);
    CHECK_EQ(found.cpus[1].apic_id, 501);
    CHECK_EQ(found.cpus[1].uid, 7);
}

TEST(cpu_twice, "a CPU listed twice, or as APIC and as x2APIC, is one CPU")
{
    struct table madt = madt_of(3);

    madt_lapic(&madt, 1, 1, 1);
    madt_x2apic(&madt, 2, 2, 1);
    madt_x2apic(&madt, 9, 9, 1);
    CHECK_EQ(discover_built(&madt, NULL, NULL), 0);
    CHECK_EQ(found.cpu_count, 4);
    CHECK_EQ(found.cpus[3].apic_id, 9);
}

TEST(cpu_limit, "CPUS_MAX CPUs are found, one more is -E2BIG")
{
    struct table madt = madt_start(0xfee00000);

    for (uint32_t i = 0; i < CPUS_MAX; i++)
        madt_x2apic(&madt, i, i * 3, 1);
    CHECK_EQ(discover_built(&madt, NULL, NULL), 0);
    CHECK_EQ(found.cpu_count, CPUS_MAX);
    madt_x2apic(&madt, 0, 1, 1);
    CHECK_EQ(discover_built(&madt, NULL, NULL), -E2BIG);
    CHECK(found.cpu_count > 0);
}

TEST(no_enabled_cpu, "a MADT without an enabled CPU is ignored")
{
    struct table madt = madt_start(0xfee00000);

    madt_lapic(&madt, 0, 0, 2);
    CHECK_EQ(discover_built(&madt, NULL, NULL), -ENOENT);
    expect_report("no enabled CPU");
}

TEST(lapic_address, "the 64-bit local APIC address replaces the 32-bit one; one not page aligned is refused")
{
    struct table madt = madt_of(1);

    madt_lapic_address(&madt, 0x1fee00000);
    CHECK_EQ(discover_built(&madt, NULL, NULL), 0);
    CHECK_EQ(found.lapic_address, 0x1fee00000);
    madt_lapic_address(&madt, 0xfee00010);
    CHECK_EQ(discover_built(&madt, NULL, NULL), -ENOENT);
    expect_report("local APIC at 0xfee00010");
    madt_lapic_address(&madt, 0);
    CHECK_EQ(discover_built(&madt, NULL, NULL), -ENOENT);
    expect_report("local APIC at 0x0");
}

TEST(interrupts, "I/O APICs and overrides: polarity and trigger, foreign buses ignored, no more than there is room for")
{
    struct table madt = madt_of(1);

    madt_ioapic(&madt, 0xfec00000, 0);
    madt_ioapic(&madt, 0xfec10000, 24);
    madt_override(&madt, 0, 9, 20, 0xf);
    madt_override(&madt, 1, 9, 20, 0xf);
    madt_override(&madt, 0, 14, 14, 0x5);
    CHECK_EQ(discover_built(&madt, NULL, NULL), 0);
    CHECK_EQ(found.ioapic_count, 2);
    CHECK_EQ(found.ioapics[1].gsi_base, 24);
    CHECK_EQ(found.override_count, 2);
    CHECK(found.overrides[0].active_low && found.overrides[0].level);
    CHECK(!found.overrides[1].active_low && !found.overrides[1].level);
    expect_report("bus 1");
    for (int i = 0; i < 40; i++) {
        madt_ioapic(&madt, 0xfec20000, 48);
        madt_override(&madt, 0, 1, 1, 0);
    }
    CHECK_EQ(discover_built(&madt, NULL, NULL), 0);
    CHECK_EQ(found.ioapic_count, ACPI_IOAPIC_MAX);
    CHECK_EQ(found.override_count, ACPI_OVERRIDE_MAX);
}

TEST(madt_entry_lengths, "a MADT entry that is too short, too long or of length 0 or 1 spoils the whole table")
{
    static const uint8_t lengths[] = {0, 1, 2, 7, 9, 255};

    for (size_t i = 0; i < sizeof(lengths); i++) {
        struct table madt = madt_of(2);
        madt.bytes[44 + 8 + 1] = lengths[i];
        CHECK_EQ(discover_built(&madt, NULL, NULL), -ENOENT);
        expect_report("MADT ignored: bad entry");
    }
}

TEST(short_entries, "an entry of a known type shorter than that type, well-formed otherwise, spoils its table")
{
    static const struct {
        bool srat;
        uint8_t type, size;
    } kinds[] = {
        {false, 0, 8},  {false, 1, 12}, {false, 2, 10}, {false, 5, 12},
        {false, 9, 16}, {true, 0, 16},  {true, 1, 40},  {true, 2, 24},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (uint8_t size = 1; size < kinds[i].size; size++) {
            struct table madt = madt_of(1);
            struct table srat = srat_start(3);
            uint8_t entry[40] = {kinds[i].type, size};
            srat_cpu(&srat, 0, 0, 1);
            table_append(kinds[i].srat ? &srat : &madt, entry, size);
            CHECK_EQ(discover_built(&madt, &srat, NULL), kinds[i].srat ? 0 : -ENOENT);
            CHECK(!found.srat_used);
            expect_report("bad entry");
        }
    }
}

TEST(short_tables, "a table shorter than its fixed part is ignored, whatever its checksum")
{
    static const uint8_t matrix[4] = {10, 20, 20, 10};
    static const struct {
        const char *name;
        uint32_t fixed;
    } tables[] = {{"APIC", 44}, {"SRAT", 48}, {"SLIT", 44}};

    for (int i = 0; i < 3; i++) {
        for (uint32_t length = 0; length < tables[i].fixed; length++) {
            struct table madt = madt_of(2);
            struct table srat = srat_start(3);
            struct table slit = slit_of(2, matrix, 4);
            srat_cpu(&srat, 0, 0, 1);
            srat_cpu(&srat, 1, 1, 1);
            CHECK_EQ(discover_built(&madt, &srat, &slit), 0);
            CHECK(found.srat_used && found.slit_used);
            build_shorten(&machine, tables[i].name, length);
            CHECK_EQ(discover(BUILD_RSDP), i == 0 ? -ENOENT : 0);
            CHECK(i != 1 || !found.srat_used);
            CHECK(!found.slit_used);
        }
    }
}

TEST(madt_unknown_entries, "MADT entries of unknown type are skipped, whatever their length")
{
    struct table madt = madt_start(0xfee00000);

    for (uint8_t type = 10; type < 200; type++) {
        uint8_t entry[2] = {type, 2};
        table_append(&madt, entry, 2);
    }
    madt_lapic(&madt, 0, 7, 1);
    CHECK_EQ(discover_built(&madt, NULL, NULL), 0);
    CHECK_EQ(found.cpu_count, 1);
}

/* SRAT. */

TEST(domains_dense, "sparse domains become nodes 0, 1, 2 in ascending order, with CPUs and memory on them")
{
    struct table madt = madt_of(3);
    struct table srat = srat_start(3);

    srat_cpu(&srat, 0xabcdef01, 0, 1);
    srat_cpu(&srat, 7, 1, 1);
    srat_x2apic(&srat, 300, 2, 1);
    srat_memory(&srat, 300, 0x100000, 0x100000, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK(found.srat_used);
    CHECK_EQ(found.node_count, 3);
    CHECK_EQ(found.domain[0], 7);
    CHECK_EQ(found.domain[1], 300);
    CHECK_EQ(found.domain[2], 0xabcdef01);
    CHECK_EQ(found.cpus[0].node, 2);
    CHECK_EQ(found.cpus[1].node, 0);
    CHECK_EQ(found.cpus[2].node, 1);
    CHECK_EQ(found.memory[0].node, 1);
}

TEST(old_srat, "a revision 1 SRAT has domains of eight bits, whatever its reserved bytes hold")
{
    struct table madt = madt_of(1);
    struct table srat = srat_start(1);

    srat_cpu(&srat, 0xffffff05, 0, 1);
    srat_memory(&srat, 0x1234505, 0x100000, 0x100000, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK_EQ(found.node_count, 1);
    CHECK_EQ(found.domain[0], 5);
    srat.bytes[8] = 2;
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK_EQ(found.node_count, 2);
    CHECK_EQ(found.domain[0], 0x1234505);
    CHECK_EQ(found.domain[1], 0xffffff05);
}

TEST(nodes_of_one_kind, "a node may have memory only, CPUs only, or CPUs that are not there")
{
    struct table madt = madt_of(1);
    struct table srat = srat_start(3);

    srat_cpu(&srat, 2, 0, 1);
    srat_memory(&srat, 1, 0x100000, 0x100000, 1);
    srat_cpu(&srat, 0, 99, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    expect_nothing_reported();
    CHECK_EQ(found.node_count, 3);
    CHECK_EQ(found.cpus[0].node, 2);
    CHECK_EQ(found.memory[0].node, 1);
}

TEST(disabled_affinity, "disabled entries and memory of size zero say nothing; a SRAT of only those is ignored")
{
    struct table madt = madt_of(2);
    struct table srat = srat_start(3);

    srat_cpu(&srat, 9, 0, 0);
    srat_memory(&srat, 8, 0x100000, 0x100000, 0);
    srat_memory(&srat, 7, 0x100000, 0, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK(!found.srat_used);
    expect_report("SRAT ignored: no enabled entry");
    srat_cpu(&srat, 3, 1, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK(found.srat_used);
    CHECK_EQ(found.node_count, 1);
    CHECK_EQ(found.domain[0], 3);
    CHECK_EQ(found.memory_count, 0);
    expect_report("APIC id 0 is not in SRAT");
}

TEST(cpu_in_two_domains, "a SRAT that puts a CPU into two domains is ignored; saying the same twice is not")
{
    struct table madt = madt_of(2);
    struct table srat = srat_start(3);

    srat_cpu(&srat, 0, 0, 1);
    srat_x2apic(&srat, 0, 0, 1);
    srat_cpu(&srat, 1, 1, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK(found.srat_used);
    srat_x2apic(&srat, 0, 1, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK(!found.srat_used);
    CHECK_EQ(found.node_count, 1);
    CHECK_EQ(found.cpus[1].node, 0);
    expect_report("a CPU in two domains");
}

TEST(memory_in_two_domains, "a SRAT with memory in two domains, or memory that wraps, is ignored")
{
    struct table madt = madt_of(1);
    struct table srat = srat_start(3);

    srat_memory(&srat, 0, 0x100000, 0x100000, 1);
    srat_memory(&srat, 0, 0x180000, 0x100000, 1);
    srat_memory(&srat, 1, 0x280000, 0x100000, 1);
    srat_memory(&srat, 1, 0, 0x100000, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK(found.srat_used);
    CHECK_EQ(found.memory_count, 4);
    struct table wraps = srat;
    struct table below = srat;
    srat_memory(&below, 1, 0xff000, 0x2000, 1);
    CHECK_EQ(discover_built(&madt, &below, NULL), 0);
    CHECK(!found.srat_used);
    srat_memory(&srat, 1, 0x27f000, 0x1000, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK(!found.srat_used);
    CHECK_EQ(found.memory_count, 0);
    expect_report("memory in two domains");
    srat_memory(&wraps, 1, 0xfffffffffffff000, 0x2000, 1);
    CHECK_EQ(discover_built(&madt, &wraps, NULL), 0);
    CHECK(!found.srat_used);
    expect_report("memory that wraps");
}

TEST(srat_limits, "NODES_MAX domains are used, one more is -E2BIG; more memory than there is room for is ignored")
{
    struct table madt = madt_of(1);
    struct table srat = srat_start(3);

    for (uint32_t i = 0; i < NODES_MAX; i++)
        srat_cpu(&srat, 1000 - i, i, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK_EQ(found.node_count, NODES_MAX);
    CHECK_EQ(found.cpus[0].node, NODES_MAX - 1);
    srat_cpu(&srat, 2000, 200, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), -E2BIG);

    srat = srat_start(3);
    for (uint64_t i = 0; i < ACPI_MEMORY_MAX; i++)
        srat_memory(&srat, i % 2, i << 30, 1 << 30, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK_EQ(found.memory_count, ACPI_MEMORY_MAX);
    srat_memory(&srat, 0, 1ull << 50, 1 << 30, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK(!found.srat_used);
    expect_report("too many memory ranges");
}

TEST(srat_entry_lengths, "a SRAT entry with a wrong length spoils the whole table; unknown types are skipped")
{
    static const uint8_t lengths[] = {0, 1, 15, 17, 200};
    static const uint8_t generic[32] = {5, 32};
    struct table madt = madt_of(1);

    for (size_t i = 0; i < sizeof(lengths); i++) {
        struct table srat = srat_start(3);
        srat_cpu(&srat, 0, 0, 1);
        srat.bytes[48 + 1] = lengths[i];
        CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
        CHECK(!found.srat_used);
        expect_report("SRAT ignored: bad entry");
    }
    struct table srat = srat_start(3);
    table_append(&srat, generic, sizeof(generic));
    srat_cpu(&srat, 4, 0, 1);
    CHECK_EQ(discover_built(&madt, &srat, NULL), 0);
    CHECK_EQ(found.domain[0], 4);
}

/* SLIT. */

static struct table srat_of_domains(const uint32_t *domains, uint32_t count)
{
    struct table srat = srat_start(3);

    for (uint32_t i = 0; i < count; i++)
        srat_cpu(&srat, domains[i], i, 1);
    return srat;
}

TEST(slit_by_domain, "SLIT is indexed by domain, not by node, and need not be symmetric")
{
    static const uint32_t domains[] = {3, 1};
    static const uint8_t matrix[16] = {10, 99, 99, 99, 99, 10, 99, 31, 99, 99, 10, 99, 99, 13, 99, 10};
    struct table madt = madt_of(2);
    struct table srat = srat_of_domains(domains, 2);
    struct table slit = slit_of(4, matrix, 16);

    CHECK_EQ(discover_built(&madt, &srat, &slit), 0);
    expect_nothing_reported();
    CHECK(found.slit_used);
    CHECK_EQ(found.distance[0][1], 31);
    CHECK_EQ(found.distance[1][0], 13);
    CHECK_EQ(found.distance[0][0], 10);
}

static void expect_slit_ignored(uint64_t rows, const uint8_t *matrix, size_t size, const char *report)
{
    static const uint32_t domains[] = {0, 1};
    struct table madt = madt_of(2);
    struct table srat = srat_of_domains(domains, 2);
    struct table slit = slit_of(rows, matrix, size);

    CHECK_EQ(discover_built(&madt, &srat, &slit), 0);
    CHECK(found.srat_used && !found.slit_used);
    CHECK_EQ(found.distance[0][0], 10);
    CHECK_EQ(found.distance[0][1], 20);
    expect_report(report);
}

TEST(slit_refused,
     "a SLIT of the wrong size, with too few rows, a diagonal other than 10 or a value below 10 is ignored")
{
    static const uint8_t good[16] = {10, 20, 20, 10};
    static const uint8_t diagonal[4] = {10, 20, 20, 0};
    static const uint8_t diagonal_high[4] = {11, 20, 20, 10};
    static const uint8_t low[4] = {10, 20, 9, 10};

    expect_slit_ignored(2, good, 3, "bad length");
    expect_slit_ignored(2, good, 5, "bad length");
    expect_slit_ignored(0, good, 4, "bad length");
    expect_slit_ignored(0, good, 0, "fewer rows");
    expect_slit_ignored(0x100000001, good, 1, "bad length");
    expect_slit_ignored(1, good, 1, "fewer rows");
    expect_slit_ignored(2, diagonal, 4, "10 from itself");
    expect_slit_ignored(2, diagonal_high, 4, "10 from itself");
    expect_slit_ignored(2, low, 4, "below 10");
}

TEST(slit_alone, "a SLIT without a SRAT is ignored")
{
    static const uint8_t matrix[4] = {10, 30, 30, 10};
    struct table madt = madt_of(2);
    struct table slit = slit_of(2, matrix, 4);

    CHECK_EQ(discover_built(&madt, NULL, &slit), 0);
    CHECK(!found.slit_used);
    CHECK_EQ(found.distance[0][1], 20);
    expect_report("SLIT ignored: no SRAT");
}

TEST(unreachable, "the distance 255, unreachable, is kept")
{
    static const uint32_t domains[] = {0, 1};
    static const uint8_t matrix[4] = {10, 255, 255, 10};
    struct table madt = madt_of(2);
    struct table srat = srat_of_domains(domains, 2);
    struct table slit = slit_of(2, matrix, 4);

    CHECK_EQ(discover_built(&madt, &srat, &slit), 0);
    CHECK_EQ(found.distance[0][1], 255);
}

TEST(no_report, "discovery works without anyone to report to")
{
    struct physmem memory = physical_memory(&machine);

    physical_free(&machine);
    CHECK_EQ(acpi_discover(&memory, 0x1000, NULL, &found), -ENOENT);
}
