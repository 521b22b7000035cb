/* Credentials of threads. See the header. */
#include "tasks/thread/credentials.h"

#include "kernel/abi/errno.h"
#include "tasks/thread/thread.h"

int64_t credentials_need_root(void)
{
    return credentials_root(&thread_current()->context.credentials) ? 0 : -EPERM;
}
