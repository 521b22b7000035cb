/* Operations of no descriptor and no file. See the header. */
#include "kernel/file/service.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"

#define SERVICES (FILE_SERVICE_LAST - FILE_SERVICE_FIRST + 1)

/* [i] */
static void (*services[SERVICES])(const struct file_request *request, const void *data, size_t size, void *result,
                                  size_t room, struct file_answer *answer);

bool service_has(uint32_t operation)
{
    return operation >= FILE_SERVICE_FIRST && operation <= FILE_SERVICE_LAST;
}

void service_register(enum file_operation operation,
                      void (*serve)(const struct file_request *request, const void *data, size_t size, void *result,
                                    size_t room, struct file_answer *answer))
{
    assert(service_has(operation) && services[operation - FILE_SERVICE_FIRST] == NULL);
    services[operation - FILE_SERVICE_FIRST] = serve;
}

void service_do(const struct file_request *request, const void *data, size_t size, void *result, size_t room,
                struct file_answer *answer)
{
    *answer = (struct file_answer){.kernel = instance.kernel};
    if (instance.kernel != 0 || !service_has(request->operation) ||
        services[request->operation - FILE_SERVICE_FIRST] == NULL)
        answer->value = -EPROTO;
    else
        services[request->operation - FILE_SERVICE_FIRST](request, data, size, result, room, answer);
}
