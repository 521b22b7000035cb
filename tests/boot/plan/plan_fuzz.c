/* Any machine and any option: refused with a reason, or a plan that keeps every invariant.
 * sources: boot/plan/plan.c boot/plan/cpus.c boot/plan/free.c boot/plan/memory.c
 * runs: 25000 */
#include "boot/plan/plan.h"
#include "kernel/abi/errno.h"
#include "tests/boot/plan/check.h"
#include "tests/fuzz/fuzz.h"

static struct acpi_topology topology;
static struct boot_range ranges[BOOT_RANGES_MAX];
static struct boot_module busy[BOOT_MODULES_MAX];
static struct plan plan;

/* An address or size: of pages or bytes, small or anywhere. */
static uint64_t take_amount(struct fuzz_reader *reader)
{
    uint64_t kind = fuzz_take(reader, 1);

    switch (kind % 4) {
    case 0:
        return fuzz_take(reader, 2) * PAGE_SIZE;
    case 1:
        return fuzz_take(reader, 1) << 21;
    case 2:
        return fuzz_take(reader, 4);
    default:
        return fuzz_take(reader, 8);
    }
}

static void take_machine(struct fuzz_reader *reader, struct plan_input *input)
{
    memset(&topology, 0, sizeof(topology));
    topology.node_count = 1 + (uint32_t)fuzz_take(reader, 1) % NODES_MAX;
    topology.cpu_count = (uint32_t)fuzz_take(reader, 1) % (CPUS_MAX + 1);
    for (uint32_t i = 0; i < topology.cpu_count; i++)
        topology.cpus[i] = (struct acpi_cpu){.apic_id = i,
                                             .node = (uint32_t)fuzz_take(reader, 1) % topology.node_count};
    topology.memory_count = (uint32_t)fuzz_take(reader, 1) % 32;
    for (uint32_t i = 0; i < topology.memory_count; i++) {
        struct acpi_memory *memory = &topology.memory[i];
        memory->base = take_amount(reader);
        memory->size = take_amount(reader);
        memory->node = (uint32_t)fuzz_take(reader, 1) % topology.node_count;
    }
    for (uint32_t a = 0; a < topology.node_count; a++) {
        for (uint32_t b = 0; b < topology.node_count; b++)
            topology.distance[a][b] = a == b ? 10 : (uint8_t)(10 + fuzz_take(reader, 1) % 246);
    }
    input->range_count = (uint32_t)fuzz_take(reader, 1) % 32;
    for (uint32_t i = 0; i < input->range_count; i++) {
        ranges[i].base = take_amount(reader);
        ranges[i].size = take_amount(reader);
        ranges[i].kind = fuzz_take(reader, 1) % 4 ? BOOT_MEMORY_USABLE : BOOT_MEMORY_RESERVED;
    }
    input->busy_count = (uint32_t)fuzz_take(reader, 1) % BOOT_MODULES_MAX;
    for (uint32_t i = 0; i < input->busy_count; i++) {
        busy[i].base = take_amount(reader);
        busy[i].size = take_amount(reader);
    }
    input->boot_apic_id = (uint32_t)fuzz_take(reader, 1);
    input->chunk_size = (1 + fuzz_take(reader, 2)) * PAGE_SIZE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const common[] = {"core", "node", "1", "2", "3", "8"};
    struct fuzz_reader reader = {data, size};
    struct plan_input input = {.topology = &topology, .ranges = ranges, .busy = busy};
    char option[128];
    char error_text[128] = "";
    char text[4096];

    uint64_t choice = fuzz_take(&reader, 1);
    if (choice < sizeof(common) / sizeof(common[0])) {
        strcpy(option, common[choice]);
    } else {
        size_t length = (size_t)fuzz_take(&reader, 1) % 32;
        for (size_t i = 0; i < length; i++)
            option[i] = (char)fuzz_take(&reader, 1);
        option[length] = '\0';
    }
    input.kernels = option;
    take_machine(&reader, &input);

    int error = plan_compute(&input, &plan, error_text, sizeof(error_text));
    REQUIRE(error == 0 || error == -EINVAL || error == -ENOMEM || error == -E2BIG);
    REQUIRE((error != 0) == (error_text[0] != '\0'));
    if (error)
        return 0;
    const char *fault = plan_check(&input, &plan);
    if (fault)
        fprintf(stderr, "%s\n", fault);
    REQUIRE(!fault);
    REQUIRE(plan_format(&plan, text, sizeof(text)) > 0 && memchr(text, '\0', sizeof(text)));
    return 0;
}
