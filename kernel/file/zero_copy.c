/* Zero-copy data. See the header. */
#include "kernel/file/zero_copy.h"

#include "kernel/file/wire.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/lend.h"

/* bytes that fit into the single slot of a request, or of an answer; for more, the window is cheaper than slots */
#define DATA_SHORT (MSG_SHORT - sizeof(struct msg_file_call))
#define RESULT_SHORT (MSG_SHORT - sizeof(struct file_answer))

void zero_copy_begin(struct zero_copy *zero_copy, const void *data, size_t size, void *result, size_t room)
{
    const void *memory = size > 0 ? data : result;

    if (size > 0 ? room > 0 || size <= DATA_SHORT : room <= RESULT_SHORT)
        return;
    zero_copy->size = (uint32_t)(size > 0 ? size : room);
    if (lend_address(memory, zero_copy->size) == 0) {
        zero_copy->memory = zero_copy->size < ZERO_COPY_MIN ? heap_alloc_unset(zero_copy->size) : NULL;
        if (zero_copy->memory == NULL)
            return;
        if (size > 0)
            memcpy(zero_copy->memory, data, size);
        memory = zero_copy->memory;
    }
    zero_copy->address = lend_address(memory, zero_copy->size);
    zero_copy->how = size > 0 ? FILE_ZERO_COPY_DATA : FILE_ZERO_COPY_RESULT;
}

void zero_copy_end(struct zero_copy *zero_copy, void *result, size_t count)
{
    if (zero_copy->how == FILE_ZERO_COPY_RESULT && count > 0)
        memcpy(result, zero_copy->memory, count < zero_copy->size ? count : zero_copy->size);
    heap_free(zero_copy->memory, zero_copy->size);
}
