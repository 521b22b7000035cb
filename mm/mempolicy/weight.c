/* The weights of nodes: the option `weights`. See the header. */
#include "mm/mempolicy/weight.h"

#include <stdbool.h>
#include <stddef.h>

#include "boot/options/control.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"

volatile uint8_t mempolicy_weights[NODES_MAX];

/* Reads the number at *AT, which the option's row has found valid, and the character behind it. */
static uint32_t next_number(const char **at)
{
    uint32_t number = 0;

    for (; **at >= '0' && **at <= '9'; ++*at)
        number = number * 10 + (uint32_t)(**at - '0');
    if (**at != '\0')
        ++*at;
    return number;
}

/* Calls EACH for every NODE:WEIGHT of VALUE. False as soon as EACH says so. */
static bool each_weight(const char *value, bool (*each)(uint32_t node, uint32_t weight))
{
    bool good = true;

    while (good && *value != '\0') {
        uint32_t node = next_number(&value), weight = next_number(&value);

        good = each(node, weight);
    }
    return good;
}

static bool has_node(uint32_t node, uint32_t weight)
{
    return node < instance.plan.node_count && weight <= WEIGHT_MAX;
}

static bool set_one(uint32_t node, uint32_t weight)
{
    mempolicy_weights[node] = (uint8_t)weight;
    return true;
}

static bool check(const char *value)
{
    return strcmp(value, "default") == 0 || each_weight(value, has_node);
}

static void set(const char *value)
{
    if (strcmp(value, "default") != 0) {
        each_weight(value, set_one);
        return;
    }
    for (uint32_t node = 0; node < NODES_MAX; node++)
        mempolicy_weights[node] = 0;
}

void weight_init(void)
{
    static struct option option = {.name = "weights", .check = check, .set = set};

    option_add(&option);
}
