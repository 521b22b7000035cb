/* process_vm_readv(2) and process_vm_writev(2). Bytes are copied through a buffer of the kernel, in parts. The call
 * returns how many bytes could be copied. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/process/reach.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "tasks/account/facts.h"
#include "tasks/process/permission.h"

#define VECTORS_MAX 1024u /* as Linux's UIO_MAXIOV */
#define TOTAL_MAX 0x7ffff000ull

struct vector {
    uint64_t base, size;
};

struct side {
    struct vector *vectors;
    uint64_t count, index, offset;
};

static int64_t read_side(struct side *side, uint64_t address, uint64_t count)
{
    *side = (struct side){.count = count};
    if (count > VECTORS_MAX)
        return -EINVAL;
    if (count == 0)
        return 0;
    side->vectors = heap_alloc(count * sizeof(*side->vectors));
    if (side->vectors == NULL)
        return -ENOMEM;
    if (user_read(side->vectors, address, count * sizeof(*side->vectors)) != 0)
        return -EFAULT;
    for (uint64_t i = 0; i < count; i++) {
        if ((int64_t)side->vectors[i].size < 0)
            return -EINVAL;
    }
    return 0;
}

static void free_side(struct side *side)
{
    if (side->vectors != NULL)
        heap_free(side->vectors, side->count * sizeof(*side->vectors));
}

/* Returns how many bytes at *ADDRESS come next of SIDE; 0: none is left. */
static uint64_t next(struct side *side, uint64_t *address)
{
    while (side->index < side->count && side->offset == side->vectors[side->index].size) {
        side->index++;
        side->offset = 0;
    }
    if (side->index == side->count)
        return 0;
    *address = side->vectors[side->index].base + side->offset;
    return side->vectors[side->index].size - side->offset;
}

/* Copies SIZE bytes between AT, in the caller's memory, and BUFFER; WRITE: to AT. Returns how many bytes come before
 * the first page that cannot be accessed. */
static uint64_t copy_own(uint64_t at, uint8_t *buffer, uint64_t size, bool write)
{
    uint64_t done = 0, part;

    for (; done < size; done += part) {
        part = PAGE_SIZE - ((at + done) & (PAGE_SIZE - 1));
        if (part > size - done)
            part = size - done;
        if ((write ? user_write(at + done, buffer + done, part) : user_read(buffer + done, at + done, part)) != 0)
            break;
    }
    return done;
}

/* Copies one part. Returns how many bytes were copied, fewer than requested if a page cannot be accessed; -EFAULT:
 * none. */
static int64_t transfer(struct msg_reach *part, bool write, uint64_t here, uint8_t *buffer)
{
    int64_t done;

    if (write) {
        part->size = copy_own(here, buffer, part->size, false);
        return part->size > 0 ? reach_write(part, buffer) : -EFAULT;
    }
    done = reach_read(part, buffer);
    if (done > 0) {
        done = (int64_t)copy_own(here, buffer, (uint64_t)done, true);
        if (done == 0)
            return -EFAULT;
    }
    return done;
}

static int64_t transfer_all(struct msg_reach *part, bool write, struct side *own, struct side *other, uint8_t *buffer)
{
    uint64_t here = 0, total = 0, size;
    int64_t done = 0;

    do {
        uint64_t room = next(own, &here);

        size = next(other, &part->address);
        size = size < room ? size : room;
        size = size < REACH_MAX ? size : REACH_MAX;
        size = size < TOTAL_MAX - total ? size : TOTAL_MAX - total;
        if (size == 0)
            break;
        part->size = size;
        done = transfer(part, write, here, buffer);
        if (done > 0) {
            own->offset += (uint64_t)done;
            other->offset += (uint64_t)done;
            total += (uint64_t)done;
        }
    } while (done == (int64_t)size);
    return total > 0 ? (int64_t)total : done < 0 ? done : 0;
}

/* Checks whether the caller may access the process of PART. If its users are the reason, the access is limited to the
 * program that it runs now, because an exec may change its users. */
static int64_t check(struct msg_reach *part)
{
    const struct thread *self = thread_current();
    struct process_facts facts;
    int error;

    if (!credentials_root(&self->context.credentials) && part->target.process != self->group->id) {
        error = process_facts_of(part->target.process, &facts); /* read before the check: a later exec is detected */
        if (error != 0)
            return error;
        part->target.program = facts.program_ns;
    }
    return credentials_may_reach(part->target.process, true);
}

static int64_t process_vm(const struct call *c, bool write)
{
    struct msg_reach part = {.target = {.process = (uint32_t)c->a[0]}};
    struct side own = {.vectors = NULL}, other = {.vectors = NULL};
    uint8_t *buffer = NULL;
    int64_t result = c->a[5] != 0 ? -EINVAL : 0;

    if (result == 0)
        result = read_side(&own, c->a[1], c->a[2]);
    if (result == 0)
        result = read_side(&other, c->a[3], c->a[4]);
    if (result == 0 && (int32_t)c->a[0] <= 0)
        result = -ESRCH;
    if (result == 0 && other.count > 0)
        result = check(&part);
    if (result == 0) {
        buffer = heap_alloc(REACH_MAX);
        result = buffer != NULL ? transfer_all(&part, write, &own, &other, buffer) : -ENOMEM;
    }
    heap_free(buffer, REACH_MAX);
    free_side(&own);
    free_side(&other);
    return result;
}

int64_t call_process_vm_readv(struct call *c)
{
    return process_vm(c, false);
}

int64_t call_process_vm_writev(struct call *c)
{
    return process_vm(c, true);
}
