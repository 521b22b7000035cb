/* Topology discovery on tables captured from a real firmware, whole and damaged.
 * sources: boot/acpi/acpi.c boot/acpi/tables.c boot/acpi/madt.c boot/acpi/srat.c boot/acpi/slit.c */
#include "tests/boot/acpi/discover.h"

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
