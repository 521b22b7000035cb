/* Random contents for all registers. tests/guest/tasks/registers_random.h is the contract. */
#include "tests/guest/tasks/registers_random.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define FLAG_CARRY 0x1u
#define FLAG_PARITY 0x4u
#define FLAG_ADJUST 0x10u
#define FLAG_ZERO 0x40u
#define FLAG_SIGN 0x80u
#define FLAG_DIRECTION 0x400u
#define FLAG_OVERFLOW 0x800u
#define FLAG_NESTED 0x4000u
#define FLAG_ALIGNMENT 0x40000u
#define FLAG_ID 0x200000u
#define FLAGS_KEPT                                                                                                     \
    (FLAG_CARRY | FLAG_PARITY | FLAG_ADJUST | FLAG_ZERO | FLAG_SIGN | FLAG_DIRECTION | FLAG_OVERFLOW | FLAG_NESTED |   \
     FLAG_ALIGNMENT | FLAG_ID)

/* The legacy part of the area, offsets in bytes. */
#define X87_CONTROL 0
#define X87_STATUS 2
#define X87_TAGS 4
#define SSE_CONTROL 24
#define SSE_CONTROL_MASK 28
#define X87_REGISTERS 32
#define X87_REGISTER_STEP 16
#define X87_REGISTER_SIZE 10
#define SSE_REGISTERS 160
#define SSE_REGISTERS_SIZE 256
#define LEGACY_SIZE 512
#define XSAVE_HEADER_SIZE 64

#define COMPONENT_X87 0
#define COMPONENT_SSE 1
#define COMPONENT_AVX 2
#define COMPONENT_OPMASK 5
#define COMPONENT_ZMM_HIGH 6
#define COMPONENT_ZMM_MORE 7
#define COMPONENT_PKRU 9
#define COMPONENTS_TESTED 0x2e7u

struct component {
    int number;
    const char *name;
};

/* Those behind the legacy part; where they lie is asked of CPUID. */
static const struct component components[] = {
    {COMPONENT_AVX, "upper halves of YMM"},
    {COMPONENT_OPMASK, "opmask"},
    {COMPONENT_ZMM_HIGH, "upper halves of ZMM0-15"},
    {COMPONENT_ZMM_MORE, "ZMM16-31"},
    {COMPONENT_PKRU, "PKRU"},
};
#define COMPONENT_COUNT (sizeof(components) / sizeof(components[0]))

struct place {
    uint32_t offset;
    uint32_t size; /* 0 when the component is not there */
};

static struct {
    uint64_t components; /* XSAVE components in use, 0 without XSAVE */
    uint32_t sse_control_mask;
    struct place places[COMPONENT_COUNT];
} machine;

uint64_t registers_find(void)
{
    static struct registers before;
    static struct registers after;
    uint32_t out[4];

    x86_cpuid(1, 0, out);
    if ((out[2] & 1u << 27) != 0)
        machine.components = x86_xcr0() & COMPONENTS_TESTED;
    for (size_t i = 0; i < COMPONENT_COUNT; i++) {
        if ((machine.components & 1ull << components[i].number) == 0)
            continue;
        x86_cpuid(0xd, (uint32_t)components[i].number, out);
        machine.places[i] = (struct place){.offset = out[1], .size = out[0]};
        if (out[1] + out[0] > REGISTERS_EXTENDED_SIZE)
            machine.components &= ~(1ull << components[i].number);
    }
    /* Any register_hold stores the mask of valid bits. */
    memcpy(before.extended + SSE_CONTROL, &(uint32_t){0x1f80}, 4);
    memcpy(before.extended + X87_CONTROL, &(uint16_t){0x37f}, 2);
    before.rax = SYS_getpid;
    registers_hold(&before, &after, machine.components, 0);
    memcpy(&machine.sse_control_mask, after.extended + SSE_CONTROL_MASK, 4);
    if (machine.sse_control_mask == 0)
        machine.sse_control_mask = 0xffbf;
    return machine.components;
}

static void random_fill(uint64_t *random, void *bytes, size_t size)
{
    uint8_t *at = bytes;

    while (size > 0) {
        uint64_t value = tap_random(random);
        size_t part = size < sizeof(value) ? size : sizeof(value);

        memcpy(at, &value, part);
        at += part;
        size -= part;
    }
}

static void extended_fill(uint64_t *random, uint8_t *area)
{
    /* All x87 exceptions are masked, so that a flag may be set without being pending; precision 1 is
     * reserved. */
    static const uint16_t precisions[] = {0x000, 0x200, 0x300};
    uint16_t control = (uint16_t)(0x7f | precisions[tap_random(random) % 3] | (tap_random(random) % 4) << 10);
    uint16_t status = (uint16_t)(tap_random(random) & 0x7f7f);
    uint32_t sse_control = (uint32_t)tap_random(random) & machine.sse_control_mask;

    memset(area, 0, REGISTERS_EXTENDED_SIZE);
    memcpy(area + X87_CONTROL, &control, sizeof(control));
    memcpy(area + X87_STATUS, &status, sizeof(status));
    area[X87_TAGS] = (uint8_t)tap_random(random);
    memcpy(area + SSE_CONTROL, &sse_control, sizeof(sse_control));
    for (int i = 0; i < 8; i++)
        random_fill(random, area + X87_REGISTERS + i * X87_REGISTER_STEP, X87_REGISTER_SIZE);
    random_fill(random, area + SSE_REGISTERS, SSE_REGISTERS_SIZE);
    if (machine.components == 0)
        return;
    memcpy(area + LEGACY_SIZE, &machine.components, sizeof(machine.components));
    for (size_t i = 0; i < COMPONENT_COUNT; i++) {
        uint8_t *place = area + machine.places[i].offset;

        if ((machine.components & 1ull << components[i].number) == 0)
            continue;
        if (components[i].number == COMPONENT_PKRU) {
            /* Key 0 is that of all memory here: it must stay usable. */
            random_fill(random, place, 4);
            place[0] &= 0xfc;
        } else {
            random_fill(random, place, machine.places[i].size);
        }
    }
}

void registers_fill(struct registers *registers, uint64_t *random)
{
    random_fill(random, registers, REGISTERS_FLAGS);
    registers->flags = tap_random(random) & FLAGS_KEPT;
    extended_fill(random, registers->extended);
}

/* What differs first, or nothing yet. */
struct difference {
    char *text;
    size_t size;
};

static void compare(struct difference *difference, const char *name, const void *found, const void *expected,
                    size_t size)
{
    const uint8_t *a = found;
    const uint8_t *b = expected;

    for (size_t i = 0; i < size && difference->text[0] == '\0'; i++) {
        if (a[i] != b[i])
            snprintf(difference->text, difference->size, "%s, byte %zu is %02x, was %02x", name, i, a[i], b[i]);
    }
}

#define COMPARE(field) compare(&difference, #field, &after->field, &before->field, sizeof(before->field))

static void extended_compare(struct difference *difference, const uint8_t *before, const uint8_t *after)
{
    char name[32];

    compare(difference, "x87 control", after + X87_CONTROL, before + X87_CONTROL, 2);
    compare(difference, "x87 status", after + X87_STATUS, before + X87_STATUS, 2);
    compare(difference, "x87 tags", after + X87_TAGS, before + X87_TAGS, 1);
    compare(difference, "MXCSR", after + SSE_CONTROL, before + SSE_CONTROL, 4);
    for (size_t i = 0; i < 8; i++) {
        size_t offset = X87_REGISTERS + i * X87_REGISTER_STEP;

        snprintf(name, sizeof(name), "ST%zu", i);
        compare(difference, name, after + offset, before + offset, X87_REGISTER_SIZE);
    }
    for (size_t i = 0; i < 16; i++) {
        size_t offset = SSE_REGISTERS + i * 16;

        snprintf(name, sizeof(name), "XMM%zu", i);
        compare(difference, name, after + offset, before + offset, 16);
    }
    for (size_t i = 0; i < COMPONENT_COUNT; i++) {
        const struct place *place = &machine.places[i];
        size_t size = components[i].number == COMPONENT_PKRU ? 4 : place->size;

        if ((machine.components & 1ull << components[i].number) != 0)
            compare(difference, components[i].name, after + place->offset, before + place->offset, size);
    }
}

bool registers_differ(const struct registers *before, const struct registers *after, bool waited, uint64_t gs_word,
                      char *text, size_t size)
{
    struct difference difference = {text, size};
    uint64_t flags = after->flags & FLAGS_KEPT;
    uint64_t thread_pointer = x86_thread_pointer();

    text[0] = '\0';
    COMPARE(rbx);
    COMPARE(rdx);
    COMPARE(rsi);
    COMPARE(rdi);
    COMPARE(rbp);
    COMPARE(r8);
    COMPARE(r9);
    COMPARE(r10);
    COMPARE(r12);
    COMPARE(r13);
    COMPARE(r14);
    COMPARE(r15);
    if (waited) {
        COMPARE(rax);
        COMPARE(r11);
    }
    compare(&difference, "flags", &flags, &before->flags, sizeof(flags));
    extended_compare(&difference, before->extended, after->extended);
    compare(&difference, "the word at FS", &after->fs_word, &thread_pointer, sizeof(thread_pointer));
    compare(&difference, "the word at GS", &after->gs_word, &gs_word, sizeof(gs_word));
    if (after->stack == 0)
        compare(&difference, "the red zone", "changed", "intact", 1);
    return text[0] != '\0';
}

void registers_name(char *text, size_t size)
{
    snprintf(text, size, "general, x87, SSE%s", machine.components == 0 ? " (no XSAVE)" : "");
    for (size_t i = 0; i < COMPONENT_COUNT; i++) {
        if ((machine.components & 1ull << components[i].number) != 0)
            snprintf(text + strlen(text), size - strlen(text), ", %s", components[i].name);
    }
}
