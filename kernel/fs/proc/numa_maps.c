/* /proc/PID/numa_maps: the policy of each area of a process, and the nodes of its pages, in Linux's format. Pages of
 * private memory have been written, as a page that was only read is the page of zeros, which is not listed: they are
 * `anon` and `dirty`. Of a private mapping of a file, the pages that were written are not told from the others. */
#include "kernel/abi/errno.h"
#include "kernel/abi/limits.h"
#include "kernel/fs/proc/process_text.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "kernel/process/reach.h"
#include "mm/area/area.h"
#include "mm/area/backing.h"
#include "mm/file/policy.h"
#include "mm/frame/heap.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/space/wire.h"
#include "tasks/account/facts.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define SPARSE (1ull << 30) /* so much memory is asked for pages at once before each page is looked at */
#define LINE_ROOM (256u + NODES_MAX * 16u)

struct numa_maps {
    struct text *text;
    struct process_facts process;
    struct policy task; /* of areas without a policy */
    int64_t error;
    uint64_t pages[NODES_MAX]; /* of the area, by node */
    struct reach_pages ask;    /* for the nodes of at most 2 MiB */
    int32_t statuses[REACH_PAGES];
};

static void put_nodes(struct text *text, char before, uint64_t nodes)
{
    for (uint32_t node = 0; node < NODES_MAX; node++) {
        uint32_t last = node;

        if ((nodes >> node & 1) == 0)
            continue;
        while (last + 1 < NODES_MAX && (nodes >> (last + 1) & 1) != 0)
            last++;
        text_put(text, last > node ? "%c%u-%u" : "%c%u", before, node, last);
        before = ',';
        node = last;
    }
}

/* As Linux's mpol_to_str. */
static void put_policy(struct text *text, const struct policy *policy)
{
    static const char *const names[POLICY_MODES] = {
        [POLICY_DEFAULT] = "default",
        [POLICY_PREFERRED] = "prefer",
        [POLICY_BIND] = "bind",
        [POLICY_INTERLEAVE] = "interleave",
        [POLICY_LOCAL] = "local",
        [POLICY_PREFERRED_MANY] = "prefer (many)",
        [POLICY_WEIGHTED] = "weighted interleave",
    };

    text_put(text, "%s", names[policy->mode < POLICY_MODES ? policy->mode : POLICY_DEFAULT]);
    if ((policy->flags & POLICY_STATIC) != 0)
        text_put(text, "=static");
    else if ((policy->flags & POLICY_RELATIVE) != 0)
        text_put(text, "=relative");
    if ((policy->flags & POLICY_BALANCING) != 0)
        text_put(text, (policy->flags & (POLICY_STATIC | POLICY_RELATIVE)) != 0 ? "|balancing" : "=balancing");
    put_nodes(text, ':', policy->nodes);
}

/* Counts the pages of [START, END), at most 2 MiB that no multiple of 2 MiB divides, by their nodes. */
static int64_t count_block(struct numa_maps *maps, uint64_t start, uint64_t end)
{
    int64_t error;

    maps->ask.ask = (struct msg_reach_move){.target = {maps->process.id, 0, maps->process.program_ns},
                                            .address = start,
                                            .count = (uint32_t)((end - start) / PAGE_SIZE)};
    memset(maps->ask.node, REACH_STAYS, maps->ask.ask.count);
    error = reach_move(&maps->ask, maps->statuses);
    for (uint32_t i = 0; error == 0 && i < maps->ask.ask.count; i++) {
        if (maps->statuses[i] >= 0 && maps->statuses[i] < NODES_MAX)
            maps->pages[maps->statuses[i]]++;
    }
    return error;
}

static int64_t count_area(struct numa_maps *maps, const struct msg_space_area *area)
{
    int64_t left = 0;

    memset(maps->pages, 0, sizeof(maps->pages));
    for (uint64_t at = area->start, end, checked = 0; at < area->end && left >= 0; at = end) {
        end = reach_stop(at, area->end);
        if (at >= checked) { /* much of a large area may be untouched */
            checked = area->end - at < SPARSE ? area->end : at + SPARSE;
            left = reach_count(maps->process.id, at, checked - at);
        }
        if (left > 0)
            left = count_block(maps, at, end) < 0 ? -ESRCH : left;
        else
            end = checked;
    }
    return left;
}

/* The policy of AREA; without memory to find it, the thread's. */
static struct policy policy_of(const struct numa_maps *maps, const struct msg_space_area *area)
{
    uint32_t number = (uint32_t)area->prot >> AREA_POLICY_SHIFT;
    struct policy policy;

    if (backing_is_file(area->backing) && !backing_stays(area->backing))
        return file_policy_get(area->backing, &policy) == 0 && policy.mode != POLICY_DEFAULT ? policy : maps->task;
    return number != 0 && mempolicy_ask(maps->process.space_home, maps->process.space, number, &policy) == 0
               ? policy
               : maps->task;
}

static void put_area(void *context, const struct msg_space_area *area, const char *name)
{
    struct numa_maps *maps = context;
    struct policy policy = policy_of(maps, area);
    struct text *text = maps->text;
    bool file = backing_is_file(area->backing) && !backing_stays(area->backing);
    uint64_t sum = 0;

    if (maps->error != 0)
        return;
    maps->error = proc_text_grow(text, LINE_ROOM + strlen(name));
    if (maps->error != 0 || count_area(maps, area) < 0)
        return; /* it has ended: what there is, is told */
    text_put(text, "%08lx ", (unsigned long)area->start);
    put_policy(text, &policy);
    if (file)
        text_put(text, " file=%s", name);
    else if (strcmp(name, "[heap]") == 0 || strcmp(name, "[stack]") == 0)
        text_put(text, name[1] == 'h' ? " heap" : " stack");
    for (uint32_t node = 0; node < NODES_MAX; node++)
        sum += maps->pages[node];
    if (sum != 0 && !file)
        text_put(text, " anon=%lu dirty=%lu", (unsigned long)sum, (unsigned long)sum);
    else if (sum != 0)
        text_put(text, " mapped=%lu", (unsigned long)sum);
    for (uint32_t node = 0; node < NODES_MAX; node++) {
        if (maps->pages[node] != 0)
            text_put(text, " N%u=%lu", node, (unsigned long)maps->pages[node]);
    }
    text_put(text, sum != 0 ? " kernelpagesize_kB=4\n" : "\n");
}

int64_t proc_write_numa_maps(const struct proc_at *at, struct text *text)
{
    const struct group *own = thread_current()->group;
    struct numa_maps *maps = heap_alloc(sizeof(*maps));
    int64_t error = maps != NULL ? process_facts_of((uint32_t)at->keys[0], &maps->process) : -ENOMEM;

    if (error == 0) {
        maps->text = text;
        maps->error = 0;
        maps->task = own != NULL && own->id == at->keys[0] ? thread_current()->context.memory_policy
                                                           : (struct policy){.mode = POLICY_DEFAULT};
        error = proc_write_areas(at, text, false, put_area, maps);
        if (error == 0 && maps->error != 0) {
            heap_free(text->bytes, text->size);
            error = maps->error;
        }
    }
    heap_free(maps, sizeof(*maps));
    return error == -ESRCH ? -ENOENT : error;
}
