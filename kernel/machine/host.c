/* The names of the machine. See the header. Kernel 0, which is never stopped, stores them; one message reads them, or
 * sets one and reads them. The lock orders requests. */
#include "kernel/machine/host.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/string.h"
#include "tasks/remote/operation.h"

struct msg_host { /* HOST; the reply is struct host_names */
    uint32_t sets;
    uint32_t which; /* enum host_name */
    uint32_t length;
    char text[HOST_NAME_MAX];
};

_Static_assert(sizeof(struct msg_host) == 76 && sizeof(struct host_names) == 130, "wire format");

static struct spinlock lock;
static struct host_names names = {{"kettle", "(none)"}}; /* [k] lock; used on kernel 0 only */

static int run(const struct remote_request *request, void *result)
{
    const struct msg_host *asked = request->data;

    if (asked->which >= HOST_NAMES || asked->length > HOST_NAME_MAX)
        return -EPROTO;
    spin_lock(&lock);
    if (asked->sets != 0) {
        memset(names.text[asked->which], 0, sizeof(names.text[0]));
        memcpy(names.text[asked->which], asked->text, asked->length);
    }
    memcpy(result, &names, sizeof(names));
    spin_unlock(&lock);
    return sizeof(names);
}

static int ask(const struct msg_host *asked, struct host_names *out)
{
    static const struct remote_how how = {.why = "names of the machine"};
    int length = remote_call(0, MSG_HOST, asked, sizeof(*asked), out, sizeof(*out), &how);

    return length < 0 ? length : 0;
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
    REMOTE_SERVE(HOST, run, NULL, struct msg_host, struct host_names);
}
