/* Requests about shared memory from any kernel. See shm.h. Kernel 0 names the homes that have to be asked for the
 * number of areas; a home answers after kernel 0 has confirmed all grants that it has given back. */
#include "kernel/abi/errno.h"
#include "kernel/file/permission.h"
#include "kernel/ipc/call.h"
#include "kernel/ipc/sysv/shm.h"
#include "kernel/lib/string.h"
#include "mm/file/hold.h"
#include "mm/frame/heap.h"

struct asking {
    struct ipc_call call;
    struct shm_seen seen[KERNELS_MAX];
};

/* Asks the homes that ANSWER names, and appends their answers to ASKING->seen, of which *COUNT are used. */
static int64_t ask_homes(struct asking *asking, const struct shm_answer *answer, size_t *count)
{
    if ((uint64_t)asking->call.b != answer->backing) /* the call is about another segment by now */
        *count = 0;
    asking->call.b = (int64_t)answer->backing;
    for (uint64_t rest = answer->kernels; rest != 0 && *count < KERNELS_MAX; rest &= rest - 1) {
        struct shm_seen *seen = &asking->seen[*count];
        int error;

        *seen = (struct shm_seen){.kernel = (uint32_t)__builtin_ctzll(rest)};
        seen->granted = answer->granted[seen->kernel];
        error = file_hold_ask(seen->kernel, answer->backing, &seen->held);
        if (error != 0)
            return error;
        (*count)++;
    }
    return 0;
}

int64_t shm_ask(struct ipc_call *call, const struct ipc_facts *facts, struct shm_answer *answer)
{
    struct asking *asking = heap_alloc(sizeof(*asking));
    struct file_answer notified;
    size_t size = 0, count = 0;
    int64_t value;

    if (asking == NULL)
        return -ENOMEM;
    asking->call = *call;
    asking->call.b = 0;
    if (facts != NULL) {
        size = sizeof(*facts);
        memcpy(asking->seen, facts, size);
    }
    for (;;) {
        answer->kernels = 0;
        value = ipc_ask(&asking->call, sizeof(asking->call) + size, answer, sizeof(*answer), &notified);
        if (value == -EIDRM && call->flags >= SHM_NEXT)
            continue; /* the segment has been freed meanwhile: continue with the next one */
        if (value < 0 || notified.seen == 0 || answer->kernels == 0)
            break;
        value = ask_homes(asking, answer, &count);
        if (value != 0)
            break;
        size = count * sizeof(asking->seen[0]);
    }
    heap_free(asking, sizeof(*asking));
    return value;
}

int64_t shm_settle(void)
{
    struct ipc_call call = {.operation = IPC_SHM_CONTROL, .flags = SHM_TO_SETTLE};
    struct shm_answer answer;
    int64_t value;

    do {
        value = shm_ask(&call, NULL, &answer);
        if (value >= 0)
            call.id = (int32_t)((uint32_t)value % IPC_SLOTS) + 1;
    } while (value >= 0);
    return value == -EINVAL ? 0 : value;
}
