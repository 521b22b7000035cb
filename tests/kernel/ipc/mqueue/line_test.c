/* The lines of the tasks that wait for a message queue.
 * sources: kernel/ipc/mqueue/line.c */
#include "kernel/ipc/mqueue/internal.h"

#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "kernel/file/file.h"
#include "tests/test.h"

static int objects; /* of the heap */

void *heap_alloc(size_t size)
{
    objects++;
    return calloc(1, size);
}

void heap_free(void *object, size_t size)
{
    (void)size;
    objects -= object != NULL;
    free(object);
}

static struct mqueue queue;
static struct file file;

static void begin(int64_t count_max)
{
    queue = (struct mqueue){.count_max = count_max, .size_max = 1};
    list_init(&queue.messages);
    list_init(&queue.senders);
    list_init(&queue.receivers);
    list_init(&queue.served);
    file = (struct file){.state = &queue, .opens = 1};
}

static int64_t receive(struct file *from, uint32_t task, uint32_t kernel)
{
    const struct mqueue_call call = {.task = task, .kernel = kernel};

    return mqueue_wait_locked(from, &call, &queue.receivers, NULL);
}

TEST(line_closed, "nobody waits by an open file that has been closed meanwhile")
{
    begin(2);
    file.opens = 0; /* the operation has the file pinned, and its release has looked for waiters or is about to */
    CHECK_EQ(receive(&file, 1, 0), -ESRCH);
    CHECK(list_empty(&queue.receivers));
    CHECK_EQ(queue.waiting, 0);
    CHECK_EQ(objects, 0);
}
