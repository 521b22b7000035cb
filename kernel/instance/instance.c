/* Building and starting an instance. See the header and boot/boot.md. */
#include "kernel/instance/instance.h"

#include "boot/options/options.h"
#include "boot/plan/text.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/paging.h"
#include "kernel/instance/bootpage.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"

#define POOL_PAGES 96              /* page tables of the image, the chunk and the direct map */
#define INIT_DELAY_OLD 10000000ull /* ns between INIT and STARTUP on processors before family 6 (SDM) */
#define INIT_DELAY 10000ull        /* the same on processors that need no delay: see init_delay */
#define STARTUP_DELAY 200000ull    /* ns between the two STARTUPs */
#define START_TIMEOUT 5000000000ull

struct instance instance;

static uint64_t round_up(uint64_t size)
{
    return (size + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
}

void chunk_layout_compute(uint64_t channel_size, struct chunk_layout *layout)
{
    layout->image = 0;
    layout->stack = (uint64_t)(image_end - image_start);
    layout->channel = layout->stack + STACK_SIZE;
    layout->pool = layout->channel + round_up(channel_size);
    layout->size = layout->pool + POOL_PAGES * PAGE_SIZE;
}

static uint64_t pool_alloc(void *context)
{
    struct instance *target = context;
    uint64_t frame = target->pool_next;

    if (frame >= target->pool_end)
        return 0;
    target->pool_next += PAGE_SIZE;
    return frame; /* the chunk was zeroed */
}

uint64_t instance_text_shared(void)
{
    return instance.text == instance.image ? 0 : image_constants_size(&image_header);
}

uint64_t instance_room(const struct plan *plan, uint32_t kernel)
{
    uint64_t end = plan->kernels[kernel].chunk + plan->chunk_size;
    const struct plan_range *range = plan_range_of(plan, plan->kernels[kernel].chunk);

    return range->base + range->size - end;
}

uint32_t instance_text_owner(const struct instance *facts, uint32_t kernel)
{
    enum plan_text text = option_is(facts->cmdline, "text", "core")  ? PLAN_TEXT_CORE
                          : option_is(facts->cmdline, "text", "one") ? PLAN_TEXT_ONE
                                                                     : PLAN_TEXT_NODE;

    return plan_text_owner(&facts->plan, text, kernel);
}

/* Whether kernels of the plan are to run the text that is in the chunk of KERNEL, and it is not theirs. */
static bool text_lent(const struct instance *facts, uint32_t kernel)
{
    for (uint32_t k = 0; k < facts->kernels; k++) {
        if (k != kernel && instance_text_owner(facts, k) == kernel)
            return true;
    }
    return false;
}

/* Fills *TARGET, the facts of KERNEL, but for its page tables. */
static void place(const struct instance *facts, uint32_t kernel, const struct image_template *image,
                  struct instance *target)
{
    const struct chunk_layout *layout = &facts->layout;
    uint64_t base = facts->plan.kernels[kernel].chunk;
    uint32_t owner = instance_text_owner(facts, kernel);

    *target = *facts;
    target->kernel = kernel;
    if (image->bytes != NULL) {
        target->image = base;
        target->text = facts->plan.kernels[owner].chunk;
        target->spare = owner == kernel ? 0 : image_constants_size(image->header);
    } else {
        target->image = target->text = base + layout->size;
        target->spare = text_lent(facts, kernel) ? 0 : layout->stack;
        target->layout.size += image_size(image->header);
    }
    target->pool_next = base + layout->pool;
    target->pool_end = base + layout->size;
}

/* Copies SIZE bytes, whole pages, but for the pages that are equal already, as the text of a kernel that starts again
 * is: a write to text, even of what is there, makes an emulator translate it anew. */
static void copy_pages_that_differ(uint8_t *to, const uint8_t *from, uint64_t size)
{
    for (uint64_t at = 0; at < size; at += PAGE_SIZE) {
        const uint64_t *here = (const uint64_t *)(const void *)(to + at);
        const uint64_t *there = (const uint64_t *)(const void *)(from + at);
        uint32_t same = 0;

        while (same < PAGE_SIZE / sizeof(*here) && here[same] == there[same])
            same++;
        if (same < PAGE_SIZE / sizeof(*here))
            memcpy(to + at, from + at, PAGE_SIZE);
    }
}

/* Copies what of the booted image KERNEL has of its own, and zeroes all else of its chunk. */
static void copy(const struct instance *facts, uint32_t kernel, uint8_t *chunk, const struct image_template *image)
{
    const struct image_header *header = image->header;
    const struct chunk_layout *layout = &facts->layout;
    uint64_t constants = image_constants_size(header), stored = header->data_end - header->start;

    if (image->bytes != NULL) {
        memset(chunk + constants, 0, layout->size - constants);
        if (instance_text_owner(facts, kernel) == kernel)
            copy_pages_that_differ(chunk, image->bytes, constants);
        memcpy(chunk + constants, image->bytes + constants, stored - constants);
    } else {
        memset(chunk + layout->stack, 0, layout->size - layout->stack);
        memset(chunk + layout->size + stored, 0, image_size(header) - stored);
    }
}

uint64_t instance_build(const struct instance *facts, uint32_t kernel, uint8_t *chunk,
                        const struct image_template *image, uint64_t *stack)
{
    const struct image_header *header = image->header;
    const struct chunk_layout *layout = &facts->layout;
    uint64_t base = facts->plan.kernels[kernel].chunk;
    uint64_t text = header->text_end - header->start, constants = image_constants_size(header);
    uint8_t *own_image = image->bytes != NULL ? chunk : chunk + layout->size;
    struct instance *target = (struct instance *)(void *)(own_image + (header->instance - header->start));
    struct page_tables tables = {.delta = (uint64_t)chunk - base, .alloc = pool_alloc, .context = target};
    uint64_t virtual = header->start;
    uint64_t *top;
    int error;

    copy(facts, kernel, chunk, image);
    place(facts, kernel, image, target);
    target->root = pool_alloc(target);

    tables.root = target->root;
    error = paging_map(&tables, virtual, target->text, text, PAGING_GLOBAL, PAGE_SIZE);
    if (error == 0)
        error = paging_map(&tables, virtual + text, target->text + text, constants - text,
                           PAGING_GLOBAL | PAGING_NO_EXECUTE, PAGE_SIZE);
    if (error == 0)
        error = paging_map(&tables, virtual + constants, target->image + constants, image_size(header) - constants,
                           PAGING_WRITE | PAGING_GLOBAL | PAGING_NO_EXECUTE, PAGE_SIZE);
    if (error == 0)
        error = paging_map(&tables, DIRECT_BASE + base, base, target->spare,
                           PAGING_WRITE | PAGING_GLOBAL | PAGING_NO_EXECUTE, PAGE_SIZE);
    if (error == 0) /* the image itself is left out of the direct map: text has no writable alias */
        error = paging_map(&tables, DIRECT_BASE + base + layout->stack, base + layout->stack,
                           layout->size - layout->stack, PAGING_WRITE | PAGING_GLOBAL | PAGING_NO_EXECUTE, PAGE_SIZE);
    if (error != 0)
        panic("boot: the chunk of kernel %u has no room for its page tables", kernel);

    top = (uint64_t *)(void *)(chunk + layout->stack + STACK_SIZE);
    *--top = 0;
    *--top = header->main;
    *--top = 0; /* its argument */
    *stack = DIRECT_BASE + base + layout->stack + STACK_SIZE - 3 * sizeof(*top);
    return target->root;
}

static void delay(uint64_t nanoseconds)
{
    uint64_t until = clock_now() + nanoseconds;

    while (clock_now() < until)
        cpu_relax();
}

/* Virtual processors, and real ones with integrated local APICs (family 6 and later), are ready for STARTUP at once. */
static uint64_t init_delay(void)
{
    struct cpuid_result facts = cpuid(1, 0);
    bool virtual_machine = (facts.ecx >> 31 & 1) != 0;

    return virtual_machine || (facts.eax >> 8 & 15) >= 6 ? INIT_DELAY : INIT_DELAY_OLD;
}

bool instance_start_cpu(uint32_t cpu, uint64_t root, uint64_t stack)
{
    struct start_slot *slot = &window_boot_page()->slots[cpu];
    uint64_t deadline;

    slot->root = root;
    slot->stack = stack;
    __atomic_store_n(&slot->state, SLOT_READY, __ATOMIC_RELEASE);
    apic_send_init(slot->apic_id);
    delay(init_delay());
    apic_send_startup(slot->apic_id, TRAMPOLINE >> PAGE_SHIFT);
    deadline = clock_now() + STARTUP_DELAY;
    while (slot->state != SLOT_TAKEN && clock_now() < deadline)
        cpu_relax();
    if (slot->state != SLOT_TAKEN)
        apic_send_startup(slot->apic_id, TRAMPOLINE >> PAGE_SHIFT);
    deadline = clock_now() + START_TIMEOUT;
    while (slot->state != SLOT_TAKEN && clock_now() < deadline)
        cpu_relax();
    if (slot->state == SLOT_TAKEN)
        return true;
    /* INIT makes the CPU wait for STARTUP again: it must not start late, in memory that has another use by then */
    apic_send_init(slot->apic_id);
    delay(INIT_DELAY_OLD);
    slot->state = SLOT_EMPTY;
    return false;
}
