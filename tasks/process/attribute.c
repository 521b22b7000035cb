/* Attributes of processes. See the header. */
#include "tasks/process/attribute.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/process/wire.h"

void process_attributes_init(uint32_t attributes[PROCESS_ATTRIBUTES])
{
    memset(attributes, 0, PROCESS_ATTRIBUTES * sizeof(attributes[0]));
    attributes[ATTRIBUTE_DUMPABLE] = 1;
}

void process_attributes_inherit(uint32_t child[PROCESS_ATTRIBUTES], const uint32_t parent[PROCESS_ATTRIBUTES])
{
    process_attributes_init(child);
    child[ATTRIBUTE_DUMPABLE] = parent[ATTRIBUTE_DUMPABLE];
    child[ATTRIBUTE_BARRIERS] = parent[ATTRIBUTE_BARRIERS];
}

void process_attributes_exec(uint32_t attributes[PROCESS_ATTRIBUTES])
{
    attributes[ATTRIBUTE_DUMPABLE] = 1;
    attributes[ATTRIBUTE_BARRIERS] = 0;
}

void process_attributes_drop(uint32_t attributes[PROCESS_ATTRIBUTES])
{
    attributes[ATTRIBUTE_DUMPABLE] = 0;
    attributes[ATTRIBUTE_DEATH_SIGNAL] = 0;
}

int64_t process_attribute_operate(struct group *group, const struct msg_process_call *call,
                                  struct msg_process_result *result)
{
    uint32_t which = call->attribute.which, *attribute, old;

    (void)result;
    if (which >= PROCESS_ATTRIBUTES || call->attribute.value > INT32_MAX)
        return -EPROTO;
    attribute = &group->process->attributes[which];
    spin_lock(&group->lock);
    old = *attribute;
    if (call->attribute.sets != 0 && which == ATTRIBUTE_BARRIERS)
        *attribute |= call->attribute.value;
    else if (call->attribute.sets != 0)
        *attribute = call->attribute.value;
    spin_unlock(&group->lock);
    return old;
}

static int64_t operate(enum process_attribute which, uint32_t sets, uint32_t value)
{
    struct msg_process_call call = {.id = thread_current()->group->id,
                                    .type = MSG_PROCESS_ATTRIBUTE,
                                    .attribute = {.which = which, .sets = sets, .value = value}};
    struct msg_process_result result;

    return process_call(&call, &result);
}

int64_t process_attribute(enum process_attribute which)
{
    return operate(which, 0, 0);
}

int64_t process_attribute_set(enum process_attribute which, uint32_t value)
{
    return operate(which, 1, value);
}
