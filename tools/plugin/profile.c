/* A hash table of sites, under one lock: it is searched when an instruction is translated, not when it is executed. */
#include "tools/plugin/profile.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#define BUCKET_BITS 16

static struct site *buckets[1 << BUCKET_BITS]; /* under `lock` */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct site *make_site(uint64_t address, enum column column, struct site *next)
{
    struct site *site = malloc(sizeof(*site));
    if (!site) {
        fprintf(stderr, "count.so: no memory for the profile\n");
        abort();
    }
    *site = (struct site){.address = address, .column = column, .next = next};
    return site;
}

struct site *profile_site(uint64_t address, enum column column)
{
    /* Fibonacci hashing: neighbouring addresses go to distant buckets. */
    struct site **bucket = &buckets[(address * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - BUCKET_BITS)];
    pthread_mutex_lock(&lock);
    struct site *site = *bucket;
    while (site && site->address != address) {
        site = site->next;
    }
    if (!site) {
        site = *bucket = make_site(address, column, *bucket);
    }
    pthread_mutex_unlock(&lock);
    return site;
}

void profile_write(FILE *file)
{
    const char *separator = "";
    fputc('[', file);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof(buckets) / sizeof(buckets[0]); i++) {
        for (struct site *site = buckets[i]; site; site = site->next) {
            uint64_t executed = __atomic_load_n(&site->executed, __ATOMIC_RELAXED);
            if (executed != 0) {
                fprintf(file, "%s\n[%" PRIu64 ", %" PRIu64 "]", separator, site->address, executed);
                separator = ",";
            }
        }
    }
    pthread_mutex_unlock(&lock);
    fputc(']', file);
}
