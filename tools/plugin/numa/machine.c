/* The modelled machine. tools/plugin/numa/machine.h is the contract. */
#include "tools/plugin/numa/machine.h"

#include <stdlib.h>

#define PAGE_LINES 64 /* lines of a page: what is fetched ahead stays in it */

/* What an access does beyond the CPU's own cache. */
struct request {
    struct numa_machine *machine;
    struct numa_cpu *cpu;
    uint64_t line;
    uint64_t now;
    bool write;
    uint64_t waited; /* for links */
};

bool numa_machine_make(struct numa_machine *machine, const struct numa_config *config)
{
    *machine = (struct numa_machine){.config = *config};
    machine->cpus = calloc(config->cpus, sizeof(*machine->cpus));
    machine->llcs = calloc(config->nodes, sizeof(*machine->llcs));
    bool made = machine->cpus && machine->llcs && links_make(&machine->links, config->nodes, config->link);
    for (uint32_t node = 0; made && node < config->nodes; node++) {
        machine->first[node + 1] = machine->first[node] + config->memory[node];
        made = cache_make(&machine->llcs[node], config->llc);
    }
    for (uint32_t cpu = 0; made && cpu < config->cpus; cpu++) {
        machine->cpus[cpu].node = config->node_of[cpu];
        machine->cpus[cpu].place = config->place_of[cpu];
        machine->cpu_at[config->node_of[cpu]][config->place_of[cpu]] = (uint8_t)cpu;
        made = cache_make(&machine->cpus[cpu].cache, config->cache);
    }
    if (!made) {
        numa_machine_free(machine);
    }
    return made;
}

void numa_machine_free(struct numa_machine *machine)
{
    for (uint32_t cpu = 0; machine->cpus && cpu < machine->config.cpus; cpu++) {
        cache_free(&machine->cpus[cpu].cache);
    }
    for (uint32_t node = 0; machine->llcs && node < machine->config.nodes; node++) {
        cache_free(&machine->llcs[node]);
    }
    free(machine->cpus);
    free(machine->llcs);
    links_free(&machine->links);
}

uint32_t numa_node_of(const struct numa_machine *machine, uint64_t ram)
{
    uint32_t node = 0;
    while (node + 1 < machine->config.nodes && ram >= machine->first[node + 1]) {
        node++;
    }
    return node;
}

uint64_t numa_clock(const struct numa_cpu *cpu)
{
    const uint64_t *counters = cpu->counters;
    return counters[COLUMN_USER] + counters[COLUMN_KERNEL] + counters[COLUMN_IDLE] + cpu->stalls;
}

void numa_clocks_meet(struct numa_machine *machine)
{
    uint64_t furthest = 0;
    for (uint32_t i = 0; i < machine->config.cpus; i++) {
        uint64_t clock = numa_clock(&machine->cpus[i]) + machine->cpus[i].ahead;
        furthest = clock > furthest ? clock : furthest;
    }
    for (uint32_t i = 0; i < machine->config.cpus; i++) {
        machine->cpus[i].ahead = furthest - numa_clock(&machine->cpus[i]);
    }
}

static uint32_t home_of(const struct numa_machine *machine, uint64_t line)
{
    return numa_node_of(machine, line << NUMA_LINE_BITS);
}

/* A line goes over the link, and the requester waits for its turn or does not. */
static uint64_t transfer(struct request *request, uint32_t from, uint32_t to)
{
    return links_wait(&request->machine->links, from, to, request->now);
}

/* The CPUs of NODE whose caches hold LINE, less the one at place BUT, lose it, or with KEEP only the right to write it.
 * The node's ENTRY gets what they have written. */
static void take_from_cpus(struct numa_machine *machine, uint32_t node, struct cache_entry *entry, uint64_t line,
                           uint64_t but, bool keep)
{
    for (uint64_t holders = entry->holders & ~but; holders != 0; holders &= holders - 1) {
        struct cache *cache = &machine->cpus[machine->cpu_at[node][__builtin_ctzll(holders)]].cache;
        uint32_t at = cache_find(cache, line);
        if (at == CACHE_NOWHERE) {
            continue;
        }
        entry->dirty |= cache->entries[at].dirty;
        cache->entries[at].dirty = cache->entries[at].exclusive = false;
        if (!keep) {
            cache_drop(cache, at);
        }
    }
    if (!keep) {
        entry->holders &= but;
    }
}

/* Takes LINE from the caches of NODE. */
static void take_from_node(struct request *request, uint32_t node, uint32_t at)
{
    struct cache *llc = &request->machine->llcs[node];
    take_from_cpus(request->machine, node, &llc->entries[at], request->line, 0, false);
    cache_drop(llc, at);
}

/* Takes the line from all other nodes, for a write. Returns the cycles until the furthest has answered. */
static uint64_t take_from_others(struct request *request)
{
    struct numa_machine *machine = request->machine;
    uint64_t cycles = 0;
    for (uint32_t node = 0; node < machine->config.nodes; node++) {
        uint32_t at = node == request->cpu->node ? CACHE_NOWHERE : cache_find(&machine->llcs[node], request->line);
        if (at != CACHE_NOWHERE) {
            uint64_t away = machine->config.latency[request->cpu->node][node];
            cycles = away > cycles ? away : cycles;
            take_from_node(request, node, at);
        }
    }
    return cycles;
}

/* A place in the node's cache: what was there leaves all caches of the node, and goes to memory if it was written. */
static uint32_t make_room(struct request *request)
{
    struct numa_machine *machine = request->machine;
    uint32_t node = request->cpu->node;
    struct cache *llc = &machine->llcs[node];
    uint32_t at = cache_victim(llc, request->line);
    if (llc->tags[at] != 0) {
        uint64_t old = llc->tags[at] - 1;
        take_from_cpus(machine, node, &llc->entries[at], old, 0, false);
        if (llc->entries[at].dirty) {
            transfer(request, node, home_of(machine, old));
        }
    }
    return at;
}

/* The line is in no cache of the node: brings it from the node that has written it, or from memory. */
static struct numa_outcome bring(struct request *request, uint32_t *at)
{
    struct numa_machine *machine = request->machine;
    uint32_t here = request->cpu->node;
    uint32_t home = home_of(machine, request->line);
    struct numa_outcome outcome = {.source = NUMA_FROM_MEMORY, .node = home};
    bool alone = true;
    for (uint32_t node = 0; node < machine->config.nodes; node++) {
        uint32_t there = node == here ? CACHE_NOWHERE : cache_find(&machine->llcs[node], request->line);
        if (there == CACHE_NOWHERE) {
            continue;
        }
        struct cache_entry *entry = &machine->llcs[node].entries[there];
        take_from_cpus(machine, node, entry, request->line, 0, true);
        entry->exclusive = alone = false;
        if (entry->dirty) {
            outcome = (struct numa_outcome){.source = NUMA_FROM_OTHER_CACHE, .node = node};
            entry->dirty = false;
            if (home != here) {
                transfer(request, node, home);
            }
        }
    }
    outcome.cycles = machine->config.latency[here][outcome.node];
    request->waited = transfer(request, outcome.node, here);
    if (outcome.source == NUMA_FROM_MEMORY) {
        request->cpu->counters[NUMA_COUNTER_COUNT + home]++;
    }
    if (request->write) {
        uint64_t others = take_from_others(request);
        outcome.cycles = others > outcome.cycles ? others : outcome.cycles;
        alone = true;
    }
    outcome.cycles += request->waited;
    *at = make_room(request);
    cache_put(&machine->llcs[here], *at, request->line);
    machine->llcs[here].entries[*at].exclusive = alone;
    return outcome;
}

/* The line is in the node's cache at AT. */
static struct numa_outcome take_from_llc(struct request *request, uint32_t at)
{
    struct numa_machine *machine = request->machine;
    struct cache *llc = &machine->llcs[request->cpu->node];
    struct cache_entry *entry = &llc->entries[at];
    struct numa_outcome outcome = {.source = NUMA_FROM_LLC, .cycles = machine->config.llc_cycles};
    cache_use(llc, at);
    take_from_cpus(machine, request->cpu->node, entry, request->line, 1ull << request->cpu->place, !request->write);
    if (request->write && !entry->exclusive) {
        uint64_t others = take_from_others(request);
        outcome.cycles = others > outcome.cycles ? others : outcome.cycles;
        entry->exclusive = true;
    }
    return outcome;
}

/* Brings the line into the CPU's cache, where it is not. Returns who gave it; AT is where it is. */
static struct numa_outcome fill(struct request *request, uint32_t *at)
{
    struct numa_cpu *cpu = request->cpu;
    struct cache *llc = &request->machine->llcs[cpu->node];
    uint32_t shared = cache_find(llc, request->line);
    struct numa_outcome outcome = shared == CACHE_NOWHERE ? bring(request, &shared) : take_from_llc(request, shared);
    struct cache_entry *entry = &llc->entries[shared];
    /* Later than bring, which may have dropped the victim from this cache. */
    *at = cache_victim(&cpu->cache, request->line);
    if (cpu->cache.tags[*at] != 0) {
        uint64_t old = cpu->cache.tags[*at] - 1;
        struct cache_entry *left = &llc->entries[cache_find(llc, old)];
        left->holders &= ~(1ull << cpu->place);
        left->dirty |= cpu->cache.entries[*at].dirty;
    }
    cache_put(&cpu->cache, *at, request->line);
    cpu->cache.entries[*at].exclusive = entry->exclusive && entry->holders == 0;
    cpu->cache.entries[*at].dirty = request->write;
    entry->holders |= 1ull << cpu->place;
    return outcome;
}

/* Fetches the lines ahead of a miss, as far as they are in its page. Nobody waits for them, but for their use. */
static void fetch_ahead(const struct request *request, int64_t stride)
{
    uint64_t line = request->line;
    for (uint32_t i = 0; i < request->machine->config.prefetch; i++) {
        line += (uint64_t)stride;
        if (line / PAGE_LINES != request->line / PAGE_LINES) {
            break;
        }
        if (cache_find(&request->cpu->cache, line) == CACHE_NOWHERE) {
            struct request ahead = *request;
            uint32_t at;
            ahead.line = line;
            ahead.write = false;
            ahead.waited = 0;
            struct numa_outcome outcome = fill(&ahead, &at);
            struct cache_entry *entry = &request->cpu->cache.entries[at];
            entry->ready = request->now + outcome.cycles;
            entry->prefetched = true;
            request->cpu->counters[NUMA_PREFETCHES]++;
        }
    }
}

/* The line is in the CPU's cache at AT. */
static uint64_t hit(struct request *request, uint32_t at)
{
    struct numa_machine *machine = request->machine;
    struct numa_cpu *cpu = request->cpu;
    struct cache_entry *entry = &cpu->cache.entries[at];
    uint64_t cycles = machine->config.cache_cycles;
    cache_use(&cpu->cache, at);
    if (entry->ready > request->now) {
        cycles += entry->ready - request->now;
    }
    entry->ready = 0;
    if (request->write) {
        if (!entry->exclusive) {
            uint32_t shared = cache_find(&machine->llcs[cpu->node], request->line);
            cycles += take_from_llc(request, shared).cycles;
            entry->exclusive = true;
            cpu->counters[NUMA_UPGRADES]++;
        }
        entry->dirty = true;
    }
    return cycles;
}

static void count(struct numa_cpu *cpu, enum numa_access access, const struct numa_outcome *outcome, uint64_t waited)
{
    bool walk = access == NUMA_WALK;
    bool local = outcome->source == NUMA_FROM_MEMORY && outcome->node == cpu->node;
    bool remote = outcome->source >= NUMA_FROM_MEMORY && !local;
    cpu->counters[NUMA_WAITS] += waited;
    if (walk) {
        cpu->counters[NUMA_WALK_LOCAL] += local;
        cpu->counters[NUMA_WALK_REMOTE] += remote;
        return;
    }
    cpu->counters[NUMA_MISSES]++;
    cpu->counters[NUMA_LLC_HITS] += outcome->source == NUMA_FROM_LLC;
    cpu->counters[NUMA_LOCAL] += local;
    cpu->counters[NUMA_REMOTE] += remote;
    cpu->counters[NUMA_FORWARDS] += outcome->source == NUMA_FROM_OTHER_CACHE;
}

struct numa_outcome numa_access(struct numa_machine *machine, unsigned int number, enum numa_access access,
                                uint64_t ram, uint64_t pc)
{
    static const enum numa_counter kinds[] = {NUMA_REFERENCES, NUMA_REFERENCES, NUMA_FETCHES, NUMA_WALK_REFERENCES};
    struct numa_cpu *cpu = &machine->cpus[number];
    struct numa_outcome outcome = {.source = NUMA_FROM_CACHE};
    struct request request = {.machine = machine,
                              .cpu = cpu,
                              .line = ram >> NUMA_LINE_BITS,
                              .now = numa_clock(cpu) + cpu->ahead,
                              .write = access == NUMA_WRITE};
    uint32_t at = cache_find(&cpu->cache, request.line);
    bool data = access == NUMA_READ || access == NUMA_WRITE;
    bool learn = data && machine->config.prefetch != 0;

    cpu->counters[kinds[access]]++;
    if (at != CACHE_NOWHERE) {
        learn = learn && cpu->cache.entries[at].prefetched;
        cpu->cache.entries[at].prefetched = false;
        outcome.cycles = hit(&request, at);
    } else {
        outcome = fill(&request, &at);
        count(cpu, access, &outcome, request.waited);
    }
    if (learn) {
        int64_t stride = prefetch_learn(&cpu->prefetcher, pc, request.line);
        if (stride != 0) {
            fetch_ahead(&request, stride);
        }
    }
    cpu->stalls += outcome.cycles;
    cpu->counters[NUMA_STALLS_USER + cpu->column] += outcome.cycles;
    return outcome;
}
