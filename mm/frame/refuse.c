/* Refused allocations. See the header. */
#include "mm/frame/refuse.h"

#include "boot/options/control.h"
#include "boot/options/options.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/symbols.h"

#define SITES 512u
#define LINE_MOST 128u

volatile uint32_t refuse_rate;

static struct spinlock lock; /* taken last */
static struct site {
    const void *address;
    uint32_t reached, refused;
} sites[SITES];               /* [k] lock: hashed by address; full: further sites are not counted */
static uint64_t random_state; /* [k] lock */
static bool (*is_exempt)(void);

/* splitmix64, as in msg/inject.c. */
static uint64_t draw_locked(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static struct site *site_locked(const void *address)
{
    uint32_t at = (uint32_t)((uint64_t)address * 0x9e3779b97f4a7c15ull >> 55);

    for (uint32_t i = 0; i < SITES; i++) {
        struct site *site = &sites[(at + i) % SITES];

        if (site->address == NULL)
            site->address = address;
        if (site->address == address)
            return site;
    }
    return NULL;
}

bool refuse_slowly(const void *address)
{
    uint32_t rate = refuse_rate;
    bool exempt = is_exempt();
    struct site *site;
    bool fails;

    spin_lock(&lock);
    fails = !exempt && rate != 0 && draw_locked() % rate == 0;
    site = site_locked(address);
    if (site != NULL) {
        site->reached++;
        site->refused += fails;
    }
    spin_unlock(&lock);
    return fails;
}

size_t refuse_report(char *bytes, size_t size, uint64_t *cursor)
{
    size_t length = 0;
    uint64_t at = *cursor;

    for (; at < SITES && size - length > LINE_MOST; at++) {
        uint64_t distance = 0;
        const char *name;
        struct site site;

        spin_lock(&lock);
        site = sites[at];
        spin_unlock(&lock);
        if (site.address == NULL)
            continue;
        name = symbol_find((uint64_t)site.address, &distance);
        length += (size_t)snprintf(bytes + length, size - length, "kernel %u %.40s+%lx at %lx reached %u refused %u\n",
                                   instance.kernel, name != NULL ? name : "?", (unsigned long)distance,
                                   (unsigned long)(uintptr_t)site.address, site.reached, site.refused);
    }
    *cursor = at < SITES ? at : 0;
    return length;
}

static void set(const char *value)
{
    uint64_t rate = 0;

    option_parse_number(value, UINT32_MAX, &rate);
    refuse_rate = (uint32_t)rate;
}

void refuse_init(bool (*exempt)(void))
{
    static struct option option = {.name = "alloc", .set = set};

    is_exempt = exempt;
    random_state = instance.kernel;
    option_add(&option);
}
