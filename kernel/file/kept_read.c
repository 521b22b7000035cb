/* Reads that are kept. See the header. The file stays pinned, but not open, while a read of it is kept. */
#include "kernel/file/kept_read.h"

#include "kernel/file/file.h"
#include "kernel/file/operation.h"
#include "kernel/file/zero_copy.h"
#include "mm/frame/heap.h"
#include "tasks/remote/watcher.h"

struct kept_read {
    struct watcher watcher;
    struct file *file;           /* [i] pinned */
    struct file_request request; /* [i] */
    uint32_t room;               /* [i] bytes behind ANSWER; 0: the answer says only that it is time to try again */
    struct file_answer answer;   /* result data follow */
};

/* Whole words: they are sent faster, and the caller ignores bytes beyond the value. */
static uint32_t whole_words(uint32_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static size_t size_of(const struct kept_read *kept)
{
    return sizeof(*kept) + whole_words(kept->room);
}

/* An event: reads what there is. Whoever comes too late, or when the file has been closed, has to look again. */
static void fire(struct watcher *watcher)
{
    struct kept_read *kept = container_of(watcher, struct kept_read, watcher);
    struct file_answer *answer = &kept->answer;
    struct file *open = kept->room > 0 ? file_find(kept->file->id) : NULL;
    uint32_t length = sizeof(*answer);

    if (open != NULL) {
        file_do(open, &kept->request, NULL, 0, answer + 1, kept->room, answer);
        file_unpin(open);
        if (answer->value > 0)
            length += whole_words((uint32_t)answer->value);
    }
    if (answer->value == -EAGAIN)
        answer->flags |= FILE_MAY_WAIT | FILE_READY;
    remote_answer(&watcher->kept, answer, (int)length);
}

static void done(struct watcher *watcher)
{
    struct kept_read *kept = container_of(watcher, struct kept_read, watcher);

    file_unpin(kept->file);
    heap_free(kept, size_of(kept));
}

bool kept_read_begin(const struct remote_request *request, struct file_answer *answer)
{
    const struct msg_file_call *call = request->data;
    uint32_t room = call->room < ZERO_COPY_MIN ? call->room : 0; /* for which every caller has room in the answer */
    struct file *file = file_find(answer->id);
    struct kept_read *kept = NULL;

    if (file == NULL)
        return false;
    if (file->kind->act == NULL && (answer->flags & (FILE_MAY_WAIT | FILE_SIGNALS)) == FILE_MAY_WAIT &&
        answer->tenths == 0)
        kept = heap_alloc(sizeof(*kept) + whole_words(room)); /* zeroed: the words are sent whole */
    if (kept == NULL) {
        file_unpin(file);
        return false;
    }
    kept->watcher.fire = fire;
    kept->watcher.done = done;
    kept->file = file;
    kept->request = call->request;
    kept->request.zero_copy = 0;
    kept->room = room;
    kept->answer = *answer;
    if (watch_keep(&file->events->source, answer->seen, request, &kept->watcher) == REMOTE_KEPT)
        return true;
    answer->flags |= FILE_READY;
    done(&kept->watcher);
    return false;
}
