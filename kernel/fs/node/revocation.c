/* Revocations at the node's kernel: every kernel unmaps the pages that a file has lost before their frames are freed.
 * See the header.
 *
 * A revocation is on the list of its node and on the list of all until the last reply has come. Its counter `left`
 * starts one higher than the number of kernels to ask, so that it cannot reach zero while requests are still being
 * sent. */
#include "kernel/fs/node/revocation.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/fs/node/map.h"
#include "kernel/fs/node/node.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "mm/area/backing.h"
#include "mm/change/revoke.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "msg/request/call.h"
#include "tasks/remote/notify.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/work.h"

#define AT_ONCE 128u /* a larger cut is freed by a worker */

/* --- frames that a file has lost --- */

struct late_free {
    struct list node; /* [k] lock */
    struct work work;
    struct page_tree cut;
};

static struct spinlock lock;    /* after node->lock */
static struct list late_frees;  /* [k] */
static struct list revocations; /* [k] of all nodes */
static uint64_t last_number;    /* [k] */

static void run_late_free(struct work *work)
{
    struct late_free *late = container_of(work, struct late_free, work);

    spin_lock(&lock);
    list_remove(&late->node);
    spin_unlock(&lock);
    content_free(&late->cut, node_pause);
    heap_free(late, sizeof(*late));
}

void node_free_cut(struct page_tree *cut, uint64_t pages)
{
    struct late_free *late = pages > AT_ONCE ? heap_alloc(sizeof(*late)) : NULL;

    if (late == NULL) {
        content_free(cut, NULL);
        return;
    }
    late->cut = *cut;
    late->work.run = run_late_free;
    *cut = (struct page_tree){0};
    spin_lock(&lock);
    list_append(&late_frees, &late->node);
    spin_unlock(&lock);
    work_submit(&late->work);
}

/* --- revocations --- */

/* A task, on this or another kernel, that waits for the end of a revocation. */
struct settling {
    struct list node;
    struct remote_notice notice;
    uint32_t kernel; /* kernel of the task */
    uint64_t token;
};

struct revocation {
    struct list node;               /* [k] node->lock: in node->maps->revocations */
    struct list of_all;             /* [k] lock */
    struct list waiters;            /* [k] lock: list of struct settling */
    uint64_t number;                /* [i] */
    struct node *file;              /* [i] holds a reference */
    struct msg_file_revoke message; /* [i] once begun */
    uint32_t left;         /* [k] node->lock: kernels that have not replied, plus 1 until all have been asked */
    struct page_tree cut;  /* the frames that the file has lost */
    uint64_t pages;        /* how many frames, approximately */
    kernel_set kernels;    /* [k] node->lock: kernels that map the file when the revocation begins */
    struct list questions; /* requests to `kernels`, allocated in advance */
};

struct question { /* a request to one kernel, or a work item for this one */
    struct list node;
    struct revocation *revocation;
    struct msg_asking asking;
    struct work work;
};

static void notified(struct remote_notice *notice)
{
    heap_free(container_of(notice, struct settling, notice), sizeof(struct settling));
}

/* The last reply has come: frees the revocation's references to the frames. A kernel that could not unmap some of them
 * keeps its own references. */
static void end_revocation(struct revocation *revocation)
{
    struct list waiters;

    list_init(&waiters);
    spin_lock(&lock);
    list_remove(&revocation->of_all);
    list_for_each_safe(node, &revocation->waiters) {
        list_remove(node);
        list_append(&waiters, node);
    }
    spin_unlock(&lock);
    node_free_cut(&revocation->cut, revocation->pages);
    node_put(revocation->file);
    heap_free(revocation, sizeof(*revocation));
    list_for_each_safe(node, &waiters) {
        struct settling *settling = container_of(node, struct settling, node);

        list_remove(node);
        remote_notify(&settling->notice, settling->kernel, settling->token, NULL, 0, notified);
    }
}

static void one_less(struct revocation *revocation)
{
    struct node *node = revocation->file;
    bool last;

    spin_lock(&node->lock);
    last = --revocation->left == 0;
    if (last)
        list_remove(&revocation->node);
    spin_unlock(&node->lock);
    if (last)
        end_revocation(revocation);
}

static void answered(void *context, uint32_t kernel, const void *reply, int length)
{
    struct question *question = context;
    struct revocation *revocation = question->revocation;

    (void)reply;
    if (length < 0)
        log_line("fs: kernel %u may still map pages of a file that is shorter (error %d)", kernel, length);
    heap_free(question, sizeof(*question));
    one_less(revocation);
}

static void revoke_own(struct work *work)
{
    struct question *question = container_of(work, struct question, work);

    answered(question, instance.kernel, NULL, revoke_here(&question->revocation->message));
}

/* Asks KERNEL to unmap the pages. The revocation's `left` counts the reply already. */
static void ask(struct question *question, uint32_t kernel)
{
    const struct msg_file_revoke *message = &question->revocation->message;

    if (kernel == instance.kernel) {
        space_revoke_begins();
        question->work.run = revoke_own;
        question->work.rank = WORK_LOCKS;
        work_submit(&question->work);
    } else {
        msg_ask(&question->asking, kernel, MSG_FILE_REVOKE, message, sizeof(*message), answered, question);
    }
}

void revocation_drop(struct revocation *revocation)
{
    list_for_each_safe(node, &revocation->questions) {
        list_remove(node);
        heap_free(container_of(node, struct question, node), sizeof(struct question));
    }
    heap_free(revocation, sizeof(*revocation));
}

struct revocation *revocation_make_locked(struct node *node)
{
    struct revocation *revocation = heap_alloc(sizeof(*revocation));

    if (revocation == NULL)
        return NULL;
    revocation->file = node;
    list_init(&revocation->questions);
    list_init(&revocation->waiters);
    for (uint32_t kernel = 0; kernel < KERNELS_MAX; kernel++) {
        struct question *question;

        if (node->maps->granted[kernel] == 0)
            continue;
        question = heap_alloc(sizeof(*question));
        if (question == NULL) {
            revocation_drop(revocation);
            return NULL;
        }
        question->revocation = revocation;
        list_append(&revocation->questions, &question->node);
        revocation->kernels |= 1ull << kernel;
        revocation->left++;
    }
    return revocation;
}

void revocation_begin_locked(struct revocation *revocation, const struct revocation_range *range, struct page_tree *cut,
                             uint64_t pages)
{
    struct node *node = revocation->file;

    node_hold(node);
    revocation->message = (struct msg_file_revoke){.first = backing_make(instance.kernel, node->number, range->first),
                                                   .pages = range->pages,
                                                   .copies = range->copies};
    revocation->cut = *cut;
    revocation->pages = pages;
    *cut = (struct page_tree){0};
    revocation->left++;
    list_append(&node->maps->revocations, &revocation->node);
    spin_lock(&lock);
    revocation->number = ++last_number;
    list_append(&revocations, &revocation->of_all);
    spin_unlock(&lock);
}

uint64_t revocation_send(struct revocation *revocation)
{
    uint64_t number = revocation->number;

    for (kernel_set rest = revocation->kernels; rest != 0; rest &= rest - 1) {
        struct question *question = container_of(revocation->questions.next, struct question, node);

        list_remove(&question->node);
        ask(question, (uint32_t)__builtin_ctzll(rest));
    }
    one_less(revocation);
    return number;
}

/* Returns true if revocation NUMBER is under way; SETTLING is then notified of its end. */
static bool settle_locked(struct settling *settling, uint64_t number)
{
    list_for_each(node, &revocations) {
        struct revocation *revocation = container_of(node, struct revocation, of_all);

        if (revocation->number != number)
            continue;
        list_append(&revocation->waiters, &settling->node);
        return true;
    }
    return false;
}

static int run_settle(const struct remote_request *request, void *result)
{
    const struct msg_file_settle *message = request->data;
    struct settling *settling = heap_alloc(sizeof(*settling));
    bool waits;

    if (settling == NULL)
        return -ENOMEM;
    settling->kernel = request->kernel;
    settling->token = message->token;
    spin_lock(&lock);
    waits = settle_locked(settling, message->number);
    spin_unlock(&lock);
    if (!waits)
        heap_free(settling, sizeof(*settling));
    *(struct msg_file_settling *)result = (struct msg_file_settling){waits};
    return sizeof(struct msg_file_settling);
}

struct settle_wait {
    struct remote_wait wait;
    struct completion done;
};

static void settled(struct remote_wait *wait, const uint64_t *words)
{
    (void)words;
    completion_signal(&container_of(wait, struct settle_wait, wait)->done);
}

void node_settle(uint32_t kernel, uint64_t number)
{
    const struct remote_how how = {.why = "pages of a shorter file", .key = number, .sure = true};
    const struct wait_reason reason = {.what = how.why, .kernel = (int32_t)kernel, .key = number};
    struct msg_file_settling answer = {0};
    struct msg_file_settle message;
    struct settle_wait w;

    completion_init(&w.done);
    remote_wait_begin(&w.wait, kernel, settled);
    message = (struct msg_file_settle){number, w.wait.token};
    remote_call(kernel, MSG_FILE_SETTLE, &message, sizeof(message), &answer, sizeof(answer), &how);
    if (answer.waits != 0)
        msg_wait(&w.done, &reason);
    remote_wait_end(&w.wait);
}

bool revocations_some(uint64_t *index, uint64_t *page, uint32_t *left, content_visit visit, void *context)
{
    const struct list *lists[] = {&revocations, &late_frees};
    uint64_t at = 0;
    bool more = false;

    spin_lock(&lock);
    for (uint32_t i = 0; i < 2 && !more; i++) {
        list_for_each(node, lists[i]) {
            struct content content = {.tree = i == 0 ? container_of(node, struct revocation, of_all)->cut
                                                     : container_of(node, struct late_free, node)->cut};

            if (at++ < *index)
                continue;
            more = visit(&content, page, left, context);
            if (more)
                break;
            *index = at;
            *page = 0;
        }
    }
    spin_unlock(&lock);
    return more;
}

/* --- kernels that begin to map the file during a revocation --- */

int revocations_join_locked(struct node *node, struct list *questions)
{
    list_for_each(at, &node->maps->revocations) {
        struct revocation *revocation = container_of(at, struct revocation, node);
        struct question *question = heap_alloc(sizeof(*question));

        if (question == NULL)
            return -ENOMEM;
        question->revocation = revocation;
        list_append(questions, &question->node);
    }
    return 0;
}

void revocations_joined_locked(struct list *questions)
{
    list_for_each(at, questions)
        container_of(at, struct question, node)->revocation->left++;
}

void revocations_ask(struct list *questions, bool joined, uint32_t kernel)
{
    list_for_each_safe(at, questions) {
        struct question *question = container_of(at, struct question, node);

        list_remove(at);
        if (joined)
            ask(question, kernel);
        else
            heap_free(question, sizeof(*question));
    }
}

void revocation_init(void)
{
    list_init(&revocations);
    list_init(&late_frees);
    REMOTE_SERVE(FILE_SETTLE, run_settle, NULL, struct msg_file_settle, struct msg_file_settling);
}
