/* FILE_NAME at kernel 0. See the header. The handler asks the tree, which answers at once; for a name that leads into a
 * share it keeps the request, and a worker does it. */
#include "kernel/fs/remote/serve.h"

#include "kernel/abi/errno.h"
#include "kernel/file/later.h"
#include "kernel/file/lent.h"
#include "kernel/file/path.h"
#include "kernel/file/permission.h"
#include "kernel/fs/share/share.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "msg/channel.h"

/* Handlers run one at a time: what was asked, out of reach of who asked. */
static uint64_t own_request[(sizeof(struct msg_file_name) + sizeof(struct file_user) + 2ul * PATH_MAX) / 8];

/* Undoes what an answer would have brought that cannot be given. */
static void take_back(const struct tree_result *result)
{
    if (result->answer.id != 0)
        file_drop(0, result->answer.id);
}

/* Facts and text go to the memory that M lends. */
static void answer_there(const struct msg *m, struct tree_result *result)
{
    const struct msg_file_name_lent *lent = m->data;
    size_t facts = result->answer.facts != 0 ? sizeof(result->facts) : 0;
    size_t text = result->text != NULL ? strlen(result->text) + 1 : 0;
    size_t size = sizeof(result->answer) + facts + text;
    uint8_t *to = size <= lent->room ? lent_open(m->ticket.kernel, lent->address, size, true) : NULL;

    if (to == NULL) {
        take_back(result);
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    to += sizeof(result->answer);
    memcpy(to, &result->facts, facts);
    if (text > 0)
        memcpy(to + facts, result->text, text);
    lent_close();
    result->answer.text = (uint32_t)text;
    msg_reply(&m->ticket, &result->answer, sizeof(result->answer));
}

/* SIZE bytes at TEXT are two strings. */
static bool are_names(const char *text, size_t size)
{
    size_t first = strnlen(text, size) + 1;

    return first < size && first <= PATH_MAX && size - first <= PATH_MAX &&
           strnlen(text + first, size - first) == size - first - 1;
}

/* What M lends, copied, so that who asked cannot change it any more. False: it is not theirs, or too much. */
static bool take_request(const struct msg *m)
{
    const struct msg_file_name_lent *lent = m->data;
    const uint8_t *from;

    if (lent->size < sizeof(struct msg_file_name) || lent->size > sizeof(own_request) || lent->room > FILE_CHUNK ||
        lent->room < FILE_NAME_AT + lent->size)
        return false;
    from = lent_open(m->ticket.kernel, lent->address + FILE_NAME_AT, lent->size, false);
    if (from != NULL)
        memcpy(own_request, from, lent->size);
    lent_close();
    return from != NULL;
}

/* --- names that lead into shares --- */

static void do_name(struct work *work)
{
    struct later *later = container_of(work, struct later, work);
    struct msg_file_name *asked = (struct msg_file_name *)later->message;
    const char *first = (const char *)(asked + 1);
    bool as_user = (asked->operation & NAME_FOR_USER) != 0;
    struct tree_result result;
    struct file_user user;
    uint8_t *to = later->answer;

    if (as_user)
        first += permission_take(first, later->length - sizeof(*asked), &user);
    asked->operation &= ~NAME_FOR_USER;
    share_do(asked, as_user ? &user : NULL, first, first + strlen(first) + 1, &result);
    memcpy(to, &result.answer, sizeof(result.answer));
    to += sizeof(result.answer);
    if (result.answer.facts != 0) {
        memcpy(to, &result.facts, sizeof(result.facts));
        to += sizeof(result.facts);
    }
    if (result.text != NULL) {
        size_t length = strlen(result.text) + 1;

        memcpy(to, result.text, length);
        to += length;
        heap_free(result.text, PATH_MAX);
    }
    later_answer(later, (size_t)(to - later->answer));
}

/* M, which has been checked, is done by share_do. */
static void name_later(const struct msg *m)
{
    struct later *later = later_keep(m, sizeof(struct msg_file_named) + sizeof(struct file_facts) + PATH_MAX);

    if (later == NULL)
        return;
    later->work.run = do_name;
    work_submit(&later->work);
}

/* --- the handler --- */

static void handle_name(const struct msg *m)
{
    const struct msg_file_name_lent *lent = m->data;
    struct msg_file_name *asked = (struct msg_file_name *)own_request;
    const char *names = (const char *)(asked + 1);
    size_t size, user_size = 0;
    struct tree_result result;
    struct file_user user;
    bool as_user;

    if (instance.kernel != 0 || !take_request(m)) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    size = lent->size - sizeof(*asked);
    as_user = (asked->operation & NAME_FOR_USER) != 0;
    if (as_user)
        user_size = permission_take(names, size, &user);
    names += user_size;
    if (as_user != (user_size != 0) || !are_names(names, size - user_size)) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    asked->operation &= ~NAME_FOR_USER;
    tree_do(asked, as_user ? &user : NULL, names, names + strlen(names) + 1, &result);
    if (result.waits) {
        struct msg own = *m;

        heap_free(result.text, PATH_MAX);
        if (as_user)
            asked->operation |= NAME_FOR_USER;
        own.data = own_request;
        own.length = lent->size;
        name_later(&own);
        return;
    }
    if (result.answer.facts != 0 || result.text != NULL)
        answer_there(m, &result);
    else
        msg_reply(&m->ticket, &result.answer, sizeof(result.answer));
    heap_free(result.text, PATH_MAX);
}

void tree_serve_init(void)
{
    msg_register(MSG_FILE_NAME, handle_name, sizeof(struct msg_file_name_lent), sizeof(struct msg_file_named));
}
