/* Topology discovery on tables captured from a real firmware, on built ones, and on damaged ones.
 * sources: boot/acpi/acpi.c boot/acpi/tables.c boot/acpi/madt.c boot/acpi/srat.c boot/acpi/slit.c */
#include "boot/acpi/acpi.h"
#include "kernel/abi/errno.h"
#include "tests/boot/acpi/build.h"
#include "tests/boot/acpi/check.h"
#include "tests/boot/physical.h"
#include "tests/test.h"

static struct physical machine;
static struct acpi_topology found;
static char report_text[8192];

static void note(void *context, const char *text)
{
    (void)context;
    size_t used = strlen(report_text);
    snprintf(report_text + used, sizeof(report_text) - used, "%s\n", text);
}

static const struct acpi_report reporter = {.line = note};

static int discover(uint64_t rsdp)
{
    struct physmem memory = physical_memory(&machine);

    report_text[0] = '\0';
    memset(&found, 0xa5, sizeof(found));
    int error = acpi_discover(&memory, rsdp, &reporter, &found);
    if (error != -E2BIG) {
        const char *fault = acpi_check(&found, error);
        if (fault)
            printf("# %s\n", fault);
        CHECK(!fault);
    }
    return error;
}

static int discover_capture(const char *path)
{
    physical_free(&machine);
    physical_load(&machine, path);
    return discover(machine.pieces[0].base);
}

/* Builds tables in a fresh machine: parts that are NULL stay away. */
static int discover_built(struct table *madt, struct table *srat, struct table *slit)
{
    struct table *tables[] = {madt, srat, slit};

    physical_free(&machine);
    return discover(build_machine(&machine, 2, tables, 3));
}

static void expect_report(const char *text)
{
    if (!strstr(report_text, text))
        printf("# the report is:\n# %s", report_text);
    CHECK(strstr(report_text, text));
}

static void expect_nothing_reported(void)
{
    CHECK_TEXT(report_text, "");
}

static struct table madt_of(uint32_t cpus)
{
    struct table madt = madt_start(0xfee00000);

    for (uint32_t i = 0; i < cpus; i++)
        madt_lapic(&madt, i, i, 1);
    return madt;
}

/* Captured tables. */

TEST(captured_one_cpu, "QEMU's q35 with one CPU: one CPU, one node, no memory, five overrides, an I/O APIC")
{
    CHECK_EQ(discover_capture("tests/boot/acpi/tables/q35-1cpu.acpi"), 0);
    expect_nothing_reported();
    CHECK_EQ(found.cpu_count, 1);
    CHECK_EQ(found.cpus[0].apic_id, 0);
    CHECK_EQ(found.node_count, 1);
    CHECK_EQ(found.memory_count, 0);
    CHECK(!found.srat_used && !found.slit_used);
    CHECK_EQ(found.lapic_address, 0xfee00000);
    CHECK_EQ(found.ioapic_count, 1);
    CHECK_EQ(found.ioapics[0].address, 0xfec00000);
    CHECK_EQ(found.override_count, 5);
    CHECK_EQ(found.overrides[0].irq, 0);
    CHECK_EQ(found.overrides[0].gsi, 2);
    CHECK(!found.overrides[0].level && !found.overrides[0].active_low);
    CHECK_EQ(found.overrides[1].irq, 5);
    CHECK(found.overrides[1].level && !found.overrides[1].active_low);
}

TEST(captured_old_board, "QEMU's pc with two CPUs: both are found on one node")
{
    CHECK_EQ(discover_capture("tests/boot/acpi/tables/pc-2cpus.acpi"), 0);
    CHECK_EQ(found.cpu_count, 2);
    CHECK_EQ(found.cpus[1].apic_id, 1);
    CHECK_EQ(found.node_count, 1);
}

TEST(captured_nodes, "8 CPUs on 4 nodes in a ring: each CPU's node, each node's memory and every distance")
{
    CHECK_EQ(discover_capture("tests/boot/acpi/tables/q35-8cpus-4nodes.acpi"), 0);
    expect_nothing_reported();
    CHECK_EQ(found.cpu_count, 8);
    CHECK_EQ(found.node_count, 4);
    CHECK(found.srat_used && found.slit_used);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ(found.cpus[i].node, i / 2);
    uint64_t memory[4] = {0};
    for (uint32_t i = 0; i < found.memory_count; i++)
        memory[found.memory[i].node] += found.memory[i].size;
    CHECK_EQ(memory[0], (128 << 20) - 0x60000); /* without the hole below 1 MiB */
    for (uint32_t node = 1; node < 4; node++)
        CHECK_EQ(memory[node], 128 << 20);
    CHECK_EQ(found.distance[0][1], 16);
    CHECK_EQ(found.distance[0][2], 22);
    CHECK_EQ(found.distance[3][0], 16);
}

TEST(captured_large, "64 CPUs on 8 nodes, the last with memory only and the memory beyond 4 GiB")
{
    uint32_t per_node[8] = {0};
    uint64_t memory[8] = {0};
    uint64_t end = 0;

    CHECK_EQ(discover_capture("tests/boot/acpi/tables/q35-64cpus-8nodes.acpi"), 0);
    CHECK_EQ(found.cpu_count, 64);
    CHECK_EQ(found.node_count, 8);
    for (uint32_t i = 0; i < 64; i++)
        per_node[found.cpus[i].node]++;
    for (uint32_t node = 0; node < 6; node++)
        CHECK_EQ(per_node[node], 9);
    CHECK_EQ(per_node[6], 10);
    CHECK_EQ(per_node[7], 0);
    for (uint32_t i = 0; i < found.memory_count; i++) {
        memory[found.memory[i].node] += found.memory[i].size;
        if (found.memory[i].base + found.memory[i].size > end)
            end = found.memory[i].base + found.memory[i].size;
    }
    CHECK_EQ(memory[7], 640ull << 20);
    CHECK(end > 4ull << 30);
    CHECK(!found.slit_used);
    CHECK_EQ(found.distance[2][2], 10);
    CHECK_EQ(found.distance[2][3], 20);
}

TEST(captured_odd, "unplugged CPUs are none, an empty domain is no node, and SLIT rows stay with their domains")
{
    CHECK_EQ(discover_capture("tests/boot/acpi/tables/q35-odd.acpi"), 0);
    CHECK_EQ(found.cpu_count, 4);
    CHECK_EQ(found.node_count, 3);
    CHECK_EQ(found.domain[1], 1);
    CHECK_EQ(found.domain[2], 3);
    CHECK_EQ(found.cpus[1].node, 0);
    CHECK_EQ(found.cpus[3].node, 1);
    CHECK(found.slit_used);
    CHECK_EQ(found.distance[0][1], 20);
    CHECK_EQ(found.distance[0][2], 40);
    CHECK_EQ(found.distance[1][2], 15);
    for (uint32_t i = 0; i < found.memory_count; i++)
        CHECK(found.memory[i].node != 1);
}

/* Damage to captured tables. */

static struct acpi_topology intact;

/* What must follow when PIECE, the piece NUMBER of the capture, cannot be trusted. */
static void expect_without(const struct piece *piece, uint32_t number, int error)
{
    bool root = number <= 1; /* the RSDP or the RSDT */

    if (root || memcmp(piece->bytes, "APIC", 4) == 0) {
        CHECK_EQ(error, -ENOENT);
        return;
    }
    CHECK_EQ(error, 0);
    CHECK_EQ(found.cpu_count, intact.cpu_count);
    if (memcmp(piece->bytes, "SRAT", 4) == 0) {
        CHECK(!found.srat_used && !found.slit_used);
    } else if (memcmp(piece->bytes, "SLIT", 4) == 0) {
        CHECK(found.srat_used && !found.slit_used);
    } else {
        CHECK(memcmp(&found, &intact, sizeof(found)) == 0);
    }
}

static bool matters(const struct piece *piece)
{
    static const char *const read[] = {"RSD ", "RSDT", "APIC", "SRAT", "SLIT"};

    for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++) {
        if (memcmp(piece->bytes, read[i], 4) == 0)
            return true;
    }
    return false;
}

/* Changes each byte of each piece in turn. Only a wrong name goes without a report: that is another table. */
static void flip_every_byte(const char *path)
{
    static const uint8_t masks[] = {0x01, 0x02, 0x10, 0x80, 0xff};

    CHECK_EQ(discover_capture(path), 0);
    uint64_t rsdp = machine.pieces[0].base;
    intact = found;
    for (uint32_t i = 0; i < machine.count; i++) {
        struct piece *piece = &machine.pieces[i];
        bool expect_report = matters(piece);
        for (size_t at = 0; at < piece->size; at++) {
            for (size_t m = 0; m < sizeof(masks); m++) {
                piece->bytes[at] ^= masks[m];
                int error = discover(rsdp);
                piece->bytes[at] ^= masks[m];
                expect_without(piece, i, error);
                CHECK(!expect_report || at < 4 || report_text[0]);
            }
        }
    }
}

TEST(flip_one_cpu, "one CPU: a table with any byte changed is ignored, and nothing is read out of bounds")
{
    flip_every_byte("tests/boot/acpi/tables/q35-1cpu.acpi");
}

TEST(flip_nodes, "4 nodes: a table with any byte changed is ignored, and nothing is read out of bounds")
{
    flip_every_byte("tests/boot/acpi/tables/q35-8cpus-4nodes.acpi");
}

TEST(flip_large, "8 nodes: a table with any byte changed is ignored, and nothing is read out of bounds")
{
    flip_every_byte("tests/boot/acpi/tables/q35-64cpus-8nodes.acpi");
}

/* Damages a byte of each table and repairs the checksum, so that the contents must be caught by themselves. */
static void flip_behind_checksum(const char *path)
{
    static const uint8_t masks[] = {0x01, 0x04, 0x80, 0xff};

    CHECK_EQ(discover_capture(path), 0);
    uint64_t rsdp = machine.pieces[0].base;
    for (uint32_t i = 1; i < machine.count; i++) {
        struct piece *piece = &machine.pieces[i];
        for (size_t at = 0; at < piece->size; at++) {
            for (size_t m = 0; at != 9 && m < sizeof(masks); m++) {
                uint8_t before = piece->bytes[at];
                uint8_t sum_before = piece->bytes[9];
                piece->bytes[at] ^= masks[m];
                piece->bytes[9] = (uint8_t)(piece->bytes[9] + before - piece->bytes[at]);
                discover(rsdp);
                piece->bytes[at] = before;
                piece->bytes[9] = sum_before;
            }
        }
    }
}

TEST(flip_behind_checksums, "any byte changed under a right checksum: the result is refused or consistent")
{
    flip_behind_checksum("tests/boot/acpi/tables/q35-8cpus-4nodes.acpi");
    flip_behind_checksum("tests/boot/acpi/tables/q35-odd.acpi");
}

TEST(cut_tables, "tables that end early, at any byte, are refused or ignored")
{
    CHECK_EQ(discover_capture("tests/boot/acpi/tables/q35-odd.acpi"), 0);
    uint64_t rsdp = machine.pieces[0].base;
    intact = found;
    for (uint32_t i = 0; i < machine.count; i++) {
        size_t size = machine.pieces[i].size;
        for (size_t cut = 0; cut < size; cut++) {
            struct piece whole = machine.pieces[i];
            machine.pieces[i].size = cut;
            machine.pieces[i].bytes = cut > 0 ? malloc(cut) : NULL;
            if (cut > 0)
                memcpy(machine.pieces[i].bytes, whole.bytes, cut);
            int error = discover(rsdp);
            free(machine.pieces[i].bytes);
            machine.pieces[i] = whole;
            expect_without(&whole, i, error);
        }
    }
}

/* Finding the tables. */

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
