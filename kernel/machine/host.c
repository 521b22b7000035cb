/* The names of the machine. See the header. One message asks, or sets and asks; the answer is what they are then.
 * Kernel 0, which is never stopped, does one after the other. */
#include "kernel/machine/host.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "msg/channel.h"

struct msg_host { /* HOST; struct host_names are the answer */
    uint32_t sets;
    uint32_t which; /* enum host_name */
    uint32_t length;
    char text[HOST_NAME_MAX];
};

_Static_assert(sizeof(struct msg_host) == 76 && sizeof(struct host_names) == 130, "wire format");

static struct spinlock lock;
static struct host_names names = {{"kettle", "(none)"}}; /* [k] lock; kernel 0's alone */

static void do_here(const struct msg_host *asked, struct host_names *out)
{
    spin_lock(&lock);
    if (asked->sets != 0) {
        memset(names.text[asked->which], 0, sizeof(names.text[0]));
        memcpy(names.text[asked->which], asked->text, asked->length);
    }
    *out = names;
    spin_unlock(&lock);
}

struct host_answer {
    struct msg_kept kept;
    struct host_names names;
};

static void answered(struct msg_kept *kept)
{
    struct host_answer *answer = container_of(kept, struct host_answer, kept);

    heap_free(answer, sizeof(*answer));
}

static void handle_host(const struct msg *m)
{
    const struct msg_host *asked = m->data;
    bool good = instance.kernel == 0 && asked->which < HOST_NAMES && asked->length <= HOST_NAME_MAX;
    struct host_answer *answer = good ? heap_alloc(sizeof(*answer)) : NULL;

    if (answer == NULL) {
        msg_reply_error(&m->ticket, good ? -ENOMEM : -EPROTO);
        return;
    }
    do_here(asked, &answer->names);
    msg_keep(m, &answer->kept, NULL);
    msg_kept_reply_long(&answer->kept, &answer->names, sizeof(answer->names), answered);
}

static int ask(const struct msg_host *asked, struct host_names *out)
{
    int length;

    if (instance.kernel == 0) {
        do_here(asked, out);
        return 0;
    }
    length = msg_call(0, MSG_HOST, asked, sizeof(*asked), out, sizeof(*out), "names of the machine", asked->sets);
    return length == (int)sizeof(*out) ? 0 : length < 0 ? length : -EPROTO;
}

int host_names(struct host_names *out)
{
    const struct msg_host asked = {.sets = 0};

    return ask(&asked, out);
}

int host_set(enum host_name which, const char *text, uint32_t length)
{
    struct msg_host asked = {.sets = 1, .which = which, .length = length};
    struct host_names unused;

    memcpy(asked.text, text, length);
    return ask(&asked, &unused);
}

void host_init(void)
{
    msg_register(MSG_HOST, handle_host, sizeof(struct msg_host), sizeof(struct host_names));
}
