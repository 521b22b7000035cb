/* uname(2), sethostname(2), setdomainname(2). Only root may set the names. */
#include "kernel/machine/host.h"
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/lib/string.h"
#include "mm/user/user_copy.h"
#include "tasks/thread/credentials.h"
#include "tasks/thread/thread.h"

int64_t call_uname(struct call *c)
{
    static const char *const fields[6] = {"Linux", NULL, "6.1.0-kettle", "Kettle", "x86_64", NULL};
    char out[6][HOST_NAME_MAX + 1];
    struct host_names names;
    int error = host_names(&names);

    if (error != 0)
        return error;
    memset(out, 0, sizeof(out));
    for (int i = 0; i < 6; i++) {
        if (fields[i] != NULL)
            memcpy(out[i], fields[i], strlen(fields[i]));
    }
    memcpy(out[1], names.text[HOST_NODE], sizeof(out[1]));
    memcpy(out[5], names.text[HOST_DOMAIN], sizeof(out[5]));
    return user_write(c->a[0], out, sizeof(out));
}

static int64_t set(enum host_name which, const struct call *c)
{
    uint32_t length = (uint32_t)c->a[1];
    char text[HOST_NAME_MAX];

    if (!credentials_root(&thread_current()->context.credentials))
        return -EPERM;
    if (length > HOST_NAME_MAX)
        return -EINVAL;
    if (user_read(text, c->a[0], length) != 0)
        return -EFAULT;
    return host_set(which, text, length);
}

int64_t call_sethostname(struct call *c)
{
    return set(HOST_NODE, c);
}

int64_t call_setdomainname(struct call *c)
{
    return set(HOST_DOMAIN, c);
}
