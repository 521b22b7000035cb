/* Caches. See the header. AMD CPUs without topology extensions describe the first level in one CPUID leaf and the other
 * levels in another. */
#include "kernel/arch/x86_64/cache.h"

#include "kernel/arch/x86_64/base/instructions.h"

#define LEAF_CACHES 4u
#define LEAF_CACHES_AMD 0x8000001du
#define LEAF_FEATURES_AMD 0x80000001u
#define TOPOLOGY_EXTENSIONS (1u << 22) /* in ECX of LEAF_FEATURES_AMD: LEAF_CACHES_AMD exists */
#define LEAF_FIRST_LEVEL 0x80000005u
#define LEAF_OTHER_LEVELS 0x80000006u
#define LEAF_SIZES 0x80000008u
#define FULLY_FIRST 0xffu /* ways of a fully associative first level */

static bool is_amd(void)
{
    uint32_t ebx = cpuid(0, 0).ebx;

    return ebx == 0x68747541 || ebx == 0x6f677948; /* "Auth"enticAMD, "Hygo"nGenuine */
}

/* Returns the least S with 1 << S >= COUNT. */
static uint32_t shift_for(uint32_t count)
{
    uint32_t shift = 0;

    while (shift < 31 && 1u << shift < count)
        shift++;
    return shift;
}

static bool from_list(uint32_t leaf, uint32_t index, struct cache *out)
{
    struct cpuid_result r = cpuid(leaf, index);

    if ((r.eax & 31) == 0 || (r.eax & 31) > CACHE_UNIFIED)
        return false;
    *out = (struct cache){.level = r.eax >> 5 & 7,
                          .type = r.eax & 31,
                          .line = (r.ebx & 0xfff) + 1,
                          .partitions = (r.ebx >> 12 & 0x3ff) + 1,
                          .ways = (r.ebx >> 22) + 1,
                          .sets = r.ecx + 1,
                          .shift = shift_for((r.eax >> 14 & 0xfff) + 1)};
    return true;
}

/* Describes a cache of BYTES, if it exists. WAYS 0: fully associative. */
static bool make(struct cache *out, uint64_t bytes, uint32_t line, uint32_t ways)
{
    if (bytes == 0 || line == 0)
        return false;
    out->line = line;
    out->partitions = 1;
    out->ways = ways != 0 ? ways : (uint32_t)(bytes / line);
    out->sets = (uint32_t)(bytes / line / out->ways);
    return out->sets > 0;
}

/* Decodes the 4-bit associativity of the other levels; 0: fully associative. */
static uint32_t ways_of(uint32_t code)
{
    static const uint8_t ways[16] = {1, 1, 2, 3, 4, 6, 8, 1, 16, 1, 32, 48, 64, 96, 128, 0};

    return ways[code & 15];
}

static bool from_levels(uint32_t index, struct cache *out)
{
    struct cpuid_result first = cpuid(LEAF_FIRST_LEVEL, 0), others = cpuid(LEAF_OTHER_LEVELS, 0);
    uint32_t l1 = index == 0 ? first.ecx : first.edx;

    *out = (struct cache){.level = index < 2 ? 1 : index, .type = index < 2 ? index + 1 : CACHE_UNIFIED};
    switch (index) {
    case 0:
    case 1:
        return make(out, (uint64_t)(l1 >> 24) << 10, l1 & 0xff, (l1 >> 16 & 0xff) == FULLY_FIRST ? 0 : l1 >> 16 & 0xff);
    case 2:
        return make(out, (uint64_t)(others.ecx >> 16) << 10, others.ecx & 0xff, ways_of(others.ecx >> 12));
    case 3: /* all cores of a package share it */
        out->shift = shift_for((cpuid(LEAF_SIZES, 0).ecx & 0xff) + 1);
        return make(out, (uint64_t)(others.edx >> 18) << 19, others.edx & 0xff, ways_of(others.edx >> 12));
    default:
        return false;
    }
}

bool cache_find(uint32_t index, struct cache *out)
{
    uint32_t extended = cpuid(0x80000000, 0).eax;

    if (!is_amd())
        return cpuid(0, 0).eax >= LEAF_CACHES && from_list(LEAF_CACHES, index, out);
    if (extended >= LEAF_CACHES_AMD && (cpuid(LEAF_FEATURES_AMD, 0).ecx & TOPOLOGY_EXTENSIONS) != 0)
        return from_list(LEAF_CACHES_AMD, index, out);
    return extended >= LEAF_OTHER_LEVELS && from_levels(index, out);
}
