/* Reading the modelled machine. tools/plugin/numa/config.h is the contract. */
#include "tools/plugin/numa/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE 4096
#define CPUS_OF_NODE_MAX 64
#define SIZE_MAX_BITS 26 /* sets times ways: what the emulator's host can hold many of */

/* The next whole number of *TEXT, at most MOST. */
static bool take(char **text, uint64_t most, uint64_t *value)
{
    char *end;
    *value = strtoull(*text, &end, 10);
    bool found = end != *text && *value <= most;
    *text = end;
    return found;
}

static bool take_word(char **text, uint32_t most, uint32_t *value)
{
    uint64_t number;
    bool found = take(text, most, &number);
    *value = (uint32_t)number;
    return found;
}

static bool take_shape(char **text, struct numa_shape *shape)
{
    return take_word(text, 1u << SIZE_MAX_BITS, &shape->sets) && take_word(text, 1u << SIZE_MAX_BITS, &shape->ways) &&
           shape->ways != 0 && (uint64_t)shape->sets * shape->ways <= 1u << SIZE_MAX_BITS &&
           (shape->sets & (shape->sets - 1)) == 0;
}

static bool take_cpu(char **text, struct numa_config *config)
{
    uint32_t cpu = config->cpus;
    uint32_t node;
    if (cpu >= NUMA_CPUS_MAX || !take_word(text, NUMA_NODES_MAX - 1, &node)) {
        return false;
    }
    unsigned int place = 0;
    for (uint32_t other = 0; other < cpu; other++) {
        place += config->node_of[other] == node;
    }
    config->node_of[cpu] = (uint8_t)node;
    config->place_of[cpu] = (uint8_t)place;
    config->cpus++;
    return place < CPUS_OF_NODE_MAX;
}

/* "node BYTES LATENCY...": a latency for every node. */
static bool take_node(char **text, struct numa_config *config, uint32_t *latencies)
{
    uint32_t node = config->nodes;
    if (node >= NUMA_NODES_MAX || !take(text, UINT64_MAX, &config->memory[node])) {
        return false;
    }
    uint32_t count = 0;
    while (count < NUMA_NODES_MAX && take_word(text, UINT32_MAX / 2, &config->latency[node][count])) {
        count++;
    }
    config->nodes++;
    latencies[node] = count;
    return true;
}

static bool take_setting(const char *word, char **text, struct numa_config *config, uint32_t *latencies)
{
    if (strcmp(word, "cpu") == 0) {
        return take_cpu(text, config);
    }
    if (strcmp(word, "node") == 0) {
        return take_node(text, config, latencies);
    }
    if (strcmp(word, "low") == 0) {
        return take(text, UINT64_MAX, &config->low);
    }
    if (strcmp(word, "cache") == 0) {
        return take_shape(text, &config->cache) && take_word(text, UINT32_MAX / 2, &config->cache_cycles);
    }
    if (strcmp(word, "llc") == 0) {
        return take_shape(text, &config->llc) && take_word(text, UINT32_MAX / 2, &config->llc_cycles);
    }
    if (strcmp(word, "tlb") == 0) {
        return take_shape(text, &config->tlb);
    }
    if (strcmp(word, "prefetch") == 0) {
        return take_word(text, 64, &config->prefetch);
    }
    if (strcmp(word, "check") == 0) {
        return take_word(text, 1, &config->check);
    }
    return strcmp(word, "link") == 0 && take_word(text, UINT32_MAX / 2, &config->link);
}

static const char *problem_of(const struct numa_config *config, const uint32_t *latencies)
{
    if (config->nodes == 0 || config->cpus == 0 || config->cache.sets == 0 || config->llc.sets == 0) {
        return "nodes, CPUs, cache and llc must be given";
    }
    for (uint32_t node = 0; node < config->nodes; node++) {
        if (latencies[node] != config->nodes) {
            return "the matrix of latencies is not square";
        }
    }
    for (uint32_t cpu = 0; cpu < config->cpus; cpu++) {
        if (config->node_of[cpu] >= config->nodes) {
            return "a CPU is on a node that is not there";
        }
    }
    return NULL;
}

const char *numa_config_read(FILE *file, struct numa_config *config)
{
    static char line[LINE_SIZE];
    uint32_t latencies[NUMA_NODES_MAX] = {0};
    memset(config, 0, sizeof(*config));
    while (fgets(line, sizeof(line), file)) {
        char *text = line;
        char *word = strsep(&text, " \n");
        if (*word != '\0' && (!text || !take_setting(word, &text, config, latencies))) {
            return "a line that is none";
        }
    }
    return problem_of(config, latencies);
}
