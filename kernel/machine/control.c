/* Options that change while running, on every kernel at once. */
#include "boot/options/control.h"
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "kernel/machine/machine.h"
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "tasks/remote/work.h"

/* The change waits for handlers to end, so a worker makes it. */
struct control_work {
    struct work work;
    struct msg_kept kept;
    uint32_t size; /* bytes of this object */
    char words[];
};

static void control_done(struct msg_kept *kept)
{
    struct control_work *w = container_of(kept, struct control_work, kept);

    heap_free(w, w->size);
}

static void run_control(struct work *work)
{
    struct control_work *w = container_of(work, struct control_work, work);
    int error = option_control(w->words);

    if (error != 0)
        msg_kept_reply_error(&w->kept, error, control_done);
    else
        msg_kept_reply(&w->kept, NULL, 0, control_done);
}

static void handle_control(const struct msg *m)
{
    uint32_t size = (uint32_t)sizeof(struct control_work) + m->length + 1;
    struct control_work *w = heap_alloc(size);

    if (w == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    w->size = size;
    memcpy(w->words, m->data, m->length);
    msg_keep(m, &w->kept, NULL);
    w->work.run = run_control;
    work_submit(&w->work);
}

void control_init(void)
{
    msg_register(MSG_CONTROL, handle_control, 0, 0);
}

int control_everywhere(const char *words)
{
    int error = option_control(words);

    if (error == 0)
        msg_gather(msg_peers_reachable(), MSG_CONTROL, words, (uint32_t)strlen(words), msg_note_error, &error,
                   "change of options", 0);
    return error;
}
