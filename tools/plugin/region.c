/* Every CPU has running totals, which count always; a region adds up differences of them. So regions may overlap in any
 * way, and an instruction costs the same whether none or all are open.
 *
 * Who runs at once: CPUs on threads of their own add to their totals without a lock; the regions are under one lock. A
 * marker reads the totals of the other CPUs while these go on. That is as exact as the question: which instruction
 * another CPU is at when a marker is passed is not defined. */
#include "tools/plugin/region.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* All fields are under `lock`. */
struct region {
    uint64_t entries; /* begins that opened it */
    uint64_t errors;  /* begins while it was open, ends while it was not */
    bool open;
    uint64_t *at_begin; /* the totals when it was opened, laid out as they are; NULL before the first time */
    uint64_t *sum;      /* what was counted inside it, laid out likewise */
    uint64_t critical;  /* of each time it was open, what the CPU that executed most did, without the idle loop */
};

uint64_t *region_totals;
unsigned int region_stride;
unsigned int region_open_count; /* written under `lock` */
static unsigned int cpu_count;  /* set once */
static struct region regions[REGION_COUNT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool region_setup(unsigned int cpus, unsigned int counters)
{
    const unsigned int line = CACHE_LINE / sizeof(uint64_t);
    cpu_count = cpus;
    region_stride = (counters + line - 1) / line * line;
    size_t size = (size_t)cpus * region_stride * sizeof(*region_totals);
    region_totals = aligned_alloc(CACHE_LINE, size);
    if (region_totals) {
        memset(region_totals, 0, size);
    }
    return region_totals != NULL;
}

static size_t length(void)
{
    return (size_t)cpu_count * region_stride;
}

/* The totals of CPU now, into TO. */
static void read_cpu_totals(unsigned int cpu, uint64_t *to)
{
    for (unsigned int i = 0; i < region_stride; i++) {
        to[i] = __atomic_load_n(&region_totals[(size_t)cpu * region_stride + i], __ATOMIC_RELAXED);
    }
}

static void open_locked(struct region *region)
{
    if (!region->sum) {
        region->sum = calloc(2 * length(), sizeof(*region->sum));
        if (!region->sum) {
            fprintf(stderr, "count.so: no memory for a region\n");
            abort();
        }
        region->at_begin = region->sum + length();
    }
    region->open = true;
    region->entries++;
    __atomic_store_n(&region_open_count, region_open_count + 1, __ATOMIC_RELAXED);
    for (unsigned int cpu = 0; cpu < cpu_count; cpu++) {
        read_cpu_totals(cpu, region->at_begin + (size_t)cpu * region_stride);
    }
}

/* Adds what was executed since the region was opened, and starts anew from here. */
static void add_locked(struct region *region)
{
    uint64_t busiest = 0;
    for (size_t i = 0; i < length(); i++) {
        region->sum[i] -= region->at_begin[i];
    }
    for (unsigned int cpu = 0; cpu < cpu_count; cpu++) {
        uint64_t *begin = region->at_begin + (size_t)cpu * region_stride;
        uint64_t before = begin[COLUMN_USER] + begin[COLUMN_KERNEL];
        read_cpu_totals(cpu, begin);
        uint64_t work = begin[COLUMN_USER] + begin[COLUMN_KERNEL] - before;
        busiest = work > busiest ? work : busiest;
    }
    for (size_t i = 0; i < length(); i++) {
        region->sum[i] += region->at_begin[i];
    }
    region->critical += busiest;
}

void region_begin(unsigned int number)
{
    struct region *region = &regions[number];
    pthread_mutex_lock(&lock);
    if (region->open) {
        region->errors++;
    } else {
        open_locked(region);
    }
    pthread_mutex_unlock(&lock);
}

void region_end(unsigned int number)
{
    struct region *region = &regions[number];
    pthread_mutex_lock(&lock);
    if (region->open) {
        add_locked(region);
        region->open = false;
        __atomic_store_n(&region_open_count, region_open_count - 1, __ATOMIC_RELAXED);
    } else {
        region->errors++;
    }
    pthread_mutex_unlock(&lock);
}

static void write_cpus_locked(FILE *file, const struct region *region)
{
    for (unsigned int cpu = 0; cpu < cpu_count; cpu++) {
        const uint64_t *sum = region->sum ? region->sum + (size_t)cpu * region_stride : NULL;
        fprintf(file, "%s{\"cpu\": %u, \"user\": %" PRIu64 ", \"kernel\": %" PRIu64 ", \"idle\": %" PRIu64 "}",
                cpu == 0 ? "" : ", ", cpu, sum ? sum[COLUMN_USER] : 0, sum ? sum[COLUMN_KERNEL] : 0,
                sum ? sum[COLUMN_IDLE] : 0);
    }
}

void region_write(FILE *file)
{
    const char *separator = "";
    fputc('[', file);
    pthread_mutex_lock(&lock);
    for (unsigned int number = 0; number < REGION_COUNT; number++) {
        struct region *region = &regions[number];
        if (region->entries == 0 && region->errors == 0) {
            continue;
        }
        if (region->open) {
            add_locked(region);
        }
        fprintf(file,
                "%s\n{\"region\": %u, \"entries\": %" PRIu64 ", \"errors\": %" PRIu64
                ", \"open\": %s, \"critical\": %" PRIu64 ", \"cpus\": [",
                separator, number, region->entries, region->errors, region->open ? "true" : "false", region->critical);
        write_cpus_locked(file, region);
        fputs("]}", file);
        separator = ",";
    }
    pthread_mutex_unlock(&lock);
    fputc(']', file);
}

void region_visit(void (*visit)(void *context, unsigned int number, const uint64_t *sums), void *context)
{
    pthread_mutex_lock(&lock);
    for (unsigned int number = 0; number < REGION_COUNT; number++) {
        struct region *region = &regions[number];
        if (region->sum) {
            if (region->open) {
                add_locked(region);
            }
            visit(context, number, region->sum);
        }
    }
    pthread_mutex_unlock(&lock);
}
