/* What /sys tells of a plan with 40 CPUs on three nodes, the last without CPUs, and two kernels.
 * sources: kernel/fs/sys/sys.c kernel/fs/sys/cpu.c kernel/fs/sys/node.c kernel/fs/text/text.c kernel/lib/printf.c */
#include "kernel/fs/sys/sys.h"

#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "kernel/fs/proc/report.h"
#include "kernel/instance/instance.h"
#include "msg/request/call.h"
#include "tests/test.h"

#define CPUS 40u

struct instance instance;
static bool started; /* kernel 1 */
static char listed[4096];

bool msg_peer_started(uint32_t kernel)
{
    CHECK_EQ(kernel, 1);
    return started;
}

const struct proc_directory sys_cache;   /* the host's CPUs' affair, too */
const struct proc_directory sys_weights; /* which takes open files */

void proc_add_tree(const char *name, const struct proc_directory *directory)
{
    (void)name;
    (void)directory;
}

int64_t report_node(uint32_t node, struct report_node *out)
{
    *out = (struct report_node){.node = node,
                                .free = node == 0 ? 1000 : 38,
                                .counts = {.hit = 1, .miss = 2, .foreign = 3, .interleave = 4, .local = 5, .other = 6}};
    return 0;
}

int64_t proc_text(struct text *text, size_t size)
{
    *text = (struct text){.bytes = calloc(1, size), .size = size};
    return 0;
}

void dirents_add(struct dirents *directory, const char *name, size_t length, uint64_t inode, uint32_t mode)
{
    (void)directory;
    (void)inode;
    snprintf(listed + strlen(listed), sizeof(listed) - strlen(listed), "%.*s%s ", (int)length, name,
             mode == FILE_LINK ? "@" : "");
}

static void begin(bool second)
{
    started = second;
    memset(&instance, 0, sizeof(instance));
    instance.kernels = 2;
    instance.plan.cpu_count = CPUS;
    instance.plan.node_count = 3;
    for (uint32_t i = 0; i < CPUS; i++) {
        instance.plan.cpus[i].apic_id = i;
        instance.plan.cpus[i].node = i < 33 ? 0 : 1;
        instance.plan.cpus[i].kernel = i < 33 ? 0 : i == 39 ? -1 : 1;
    }
    instance.plan.range_count = 3;
    instance.plan.ranges[0] = (struct plan_range){.base = 0x100000, .size = 8 << 20, .node = 0, .kernel = 0};
    instance.plan.ranges[1] = (struct plan_range){.base = 0x1000000, .size = 4 << 20, .node = 1, .kernel = 1};
    instance.plan.ranges[2] = (struct plan_range){.base = 0x2000000, .size = 12 << 20, .node = 2, .kernel = 1};
    instance.plan.kernels[0].memory = 8 << 20;
    instance.plan.kernels[1].memory = 16 << 20;
    for (uint32_t a = 0; a < 3; a++)
        for (uint32_t b = 0; b < 3; b++)
            instance.plan.distance[a][b] = (uint8_t)(a == b ? 10 : 20 + a + b);
    listed[0] = '\0';
}

/* Walks to PATH; NULL: there is no such thing. */
static const struct proc_row *walk(const char *path, struct proc_at *at)
{
    static const struct proc_row top = {.name = "", .directory = &sys_directory};
    static struct proc_row made;
    const struct proc_row *row = &top;

    *at = (struct proc_at){{0}};
    while (*path != '\0') {
        size_t length = strcspn(path, "/");
        const struct proc_directory *directory = row->directory, *found;

        row = NULL;
        for (uint32_t i = 0; directory != NULL && i < directory->count; i++) {
            if (strlen(directory->rows[i].name) == length && strncmp(directory->rows[i].name, path, length) == 0)
                row = &directory->rows[i];
        }
        if (row == NULL && directory != NULL && directory->find != NULL) {
            found = directory->find(at, path, length);
            made = (struct proc_row){.name = "", .directory = found};
            if (found != NULL)
                row = found->count == 1 && found->rows[0].name[0] == '\0' ? &found->rows[0] : &made;
        }
        if (row == NULL)
            return NULL;
        path += length + (path[length] == '/');
    }
    return row;
}

/* Whether the file PATH has the text WANTED. */
static bool says(const char *path, const char *wanted)
{
    struct proc_at at;
    const struct proc_row *row = walk(path, &at);
    struct text text;
    bool same;

    CHECK(row != NULL && row->write != NULL);
    CHECK_EQ(row->write(&at, &text), 0);
    same = strcmp(text.bytes, wanted) == 0;
    if (!same)
        printf("# %s says %s", path, text.bytes);
    free(text.bytes);
    return same;
}

#define CPU "devices/system/cpu/"
#define NODE "devices/system/node/"

TEST(sys_cpus, "all CPUs are possible, those of kernels that run are online")
{
    begin(false);
    CHECK(says(CPU "possible", "0-39\n"));
    CHECK(says(CPU "present", "0-39\n"));
    CHECK(says(CPU "online", "0-32\n"));
    CHECK(says(CPU "offline", "33-39\n"));
    begin(true);
    CHECK(says(CPU "online", "0-38\n"));
    CHECK(says(CPU "offline", "39\n"));
}

TEST(sys_nodes, "nodes are listed by what they have")
{
    begin(true);
    CHECK(says(NODE "online", "0-2\n"));
    CHECK(says(NODE "has_cpu", "0-1\n"));
    CHECK(says(NODE "has_memory", "0-2\n"));
    CHECK(says(NODE "node1/cpulist", "33-38\n"));
    CHECK(says(NODE "node2/cpulist", "\n"));
    CHECK(says(NODE "node1/distance", "21 10 23\n"));
    begin(false);
    CHECK(says(NODE "has_cpu", "0\n"));
}

TEST(sys_masks, "masks are in groups of 32 bits, as wide as the machine")
{
    begin(true);
    CHECK(says(NODE "node0/cpumap", "01,ffffffff\n"));
    CHECK(says(NODE "node1/cpumap", "7e,00000000\n"));
    CHECK(says(NODE "node2/cpumap", "00,00000000\n"));
}

TEST(sys_memory, "a node's memory is what kernels own there; what is free of it, and what was made there, they tell")
{
    begin(true);
    CHECK(says(NODE "node0/meminfo", "Node 0 MemTotal:           8192 kB\nNode 0 MemFree:            4000 kB\n"
                                     "Node 0 MemUsed:            4192 kB\n"));
    CHECK(says(NODE "node2/meminfo", "Node 2 MemTotal:          12288 kB\nNode 2 MemFree:             152 kB\n"
                                     "Node 2 MemUsed:           12136 kB\n"));
    CHECK(says(NODE "node1/numastat", "numa_hit 1\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\n"
                                      "other_node 6\n"));
    CHECK(says(NODE "node1/vmstat", "nr_free_pages 38\nnuma_hit 1\nnuma_miss 2\nnuma_foreign 3\nnuma_interleave 4\n"
                                    "numa_local 5\nnuma_other 6\n"));
}

TEST(sys_links, "CPUs and nodes lead to each other")
{
    struct proc_at at;
    const struct proc_row *row;
    char text[64] = "";

    begin(true);
    row = walk(CPU "cpu35/node1", &at);
    CHECK(row != NULL && row->link != NULL);
    CHECK_EQ(row->link(&at, text, 3), -ENAMETOOLONG);
    CHECK_EQ(row->link(&at, text, sizeof(text)), 16);
    CHECK(strcmp(text, "../../node/node1") == 0);
    CHECK(says(CPU "cpu35/node1/cpulist", "33-38\n"));
    CHECK(walk(NODE "node1/cpu35/topology/core_id", &at) != NULL); /* what it says is the host's CPUs' affair */
    CHECK(walk(CPU "cpu35/node0", &at) == NULL);
    CHECK(walk(NODE "node0/cpu35", &at) == NULL);
}

TEST(sys_names, "only numbers of CPUs and nodes that there are, without more zeros, are names")
{
    static const char *const none[] = {CPU "cpu40", CPU "cpu", CPU "cpu00", CPU "cpu01",       CPU "cpu1x",
                                       CPU "cpux",  CPU "c",   CPU "CPU1",  CPU "cpu99999999", NODE "node3",
                                       NODE "cpu0", "none",    "devices/x"};
    struct proc_at at;

    begin(true);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        CHECK(walk(none[i], &at) == NULL);
    CHECK(walk(CPU "cpu39/topology/core_siblings_list", &at) != NULL);
}

TEST(sys_lists, "directories list what can be found in them")
{
    struct proc_at at;
    const struct proc_row *row;

    begin(true);
    row = walk(NODE "node1", &at);
    CHECK(row != NULL);
    row->directory->list(&at, NULL);
    CHECK(strcmp(listed, "cpu33@ cpu34@ cpu35@ cpu36@ cpu37@ cpu38@ cpu39@ ") == 0);
    begin(true);
    row = walk(CPU "cpu2", &at);
    CHECK(row != NULL);
    row->directory->list(&at, NULL);
    CHECK(strcmp(listed, "node0@ ") == 0);
}
