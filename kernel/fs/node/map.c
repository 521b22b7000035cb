/* Mappings of nodes, at the nodes' kernel. See the header. */
#include "kernel/fs/node/map.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/fs/node/node.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/sysv/shm.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/vdso/pages.h"
#include "mm/area/backing.h"
#include "mm/change/revoke.h"
#include "mm/file/hold.h"
#include "mm/file/object.h"
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "msg/channel.h"

#define AT_ONCE 1024u /* frames that a handler gives back */

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
    content_free(&late->cut);
    heap_free(late, sizeof(*late));
}

void node_free_cut(struct page_tree *cut, uint64_t pages)
{
    struct late_free *late = pages > AT_ONCE ? heap_alloc(sizeof(*late)) : NULL;

    if (late == NULL) {
        content_free(cut);
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

/* Who waits for the end of one: a peer's message, or a task here. */
struct settling {
    struct list node;
    struct msg_kept kept;
    struct completion *done; /* NULL: a peer's */
};

struct revocation {
    struct list node;               /* [k] node->lock: of its node */
    struct list of_all;             /* [k] lock */
    struct list waiters;            /* [k] lock: struct settling */
    uint64_t number;                /* [i] */
    struct node *file;              /* [i] with a reference */
    struct msg_file_revoke message; /* [i] once begun */
    uint32_t left;                  /* [k] node->lock: kernels that have not answered, and 1 until all were asked */
    struct page_tree cut;           /* its frames */
    uint64_t pages;                 /* about as many */
    kernel_set kernels;             /* [k] node->lock: to be asked at first */
    struct list questions;          /* made before it begins */
};

struct question { /* to one kernel, or to a worker here */
    struct list node;
    struct revocation *revocation;
    struct msg_asking asking;
    struct work work;
};

static void settled(struct msg_kept *kept)
{
    struct settling *settling = container_of(kept, struct settling, kept);

    heap_free(settling, sizeof(*settling));
}

/* The last answer has come: nobody maps its frames. */
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
        if (settling->done != NULL)
            completion_signal(settling->done);
        else
            msg_kept_reply(&settling->kept, NULL, 0, settled);
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

static void run_here(struct work *work)
{
    struct question *question = container_of(work, struct question, work);

    answered(question, instance.kernel, NULL, revoke_here(&question->revocation->message));
}

/* REVOCATION counts the answer already. */
static void ask(struct question *question, uint32_t kernel)
{
    const struct msg_file_revoke *message = &question->revocation->message;

    if (kernel == instance.kernel) {
        space_revoke_begins();
        question->work.run = run_here;
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

/* The revocation NUMBER is under way, and SETTLING is told of its end. */
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

static void handle_settle(const struct msg *m)
{
    const struct msg_file_settle *message = m->data;
    struct settling *settling = heap_alloc(sizeof(*settling));
    bool waits = false;

    if (settling == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    spin_lock(&lock);
    waits = settle_locked(settling, message->number);
    if (waits)
        msg_keep(m, &settling->kept, NULL);
    spin_unlock(&lock);
    if (waits)
        return;
    heap_free(settling, sizeof(*settling));
    msg_reply(&m->ticket, NULL, 0);
}

static void settle_here(uint64_t number)
{
    static const struct wait_reason reason = {.what = "pages of a shorter file", .kernel = -1};
    struct completion done;
    struct settling settling = {.done = &done};
    bool waits;

    completion_init(&done);
    spin_lock(&lock);
    waits = settle_locked(&settling, number);
    spin_unlock(&lock);
    if (waits)
        msg_wait(&done, &reason);
}

void node_settle(uint32_t kernel, uint64_t number)
{
    struct msg_file_settle message = {number};

    if (kernel == instance.kernel) {
        settle_here(number);
        return;
    }
    while (msg_call(kernel, MSG_FILE_SETTLE, &message, sizeof(message), NULL, 0, "pages of a shorter file", number) ==
           -ENOMEM)
        msg_poll();
}

void revocations_each(void (*each)(uint64_t frame, void *context), void *context)
{
    list_for_each(node, &revocations) {
        const struct content content = {.tree = container_of(node, struct revocation, of_all)->cut};

        content_each(&content, each, context);
    }
    list_for_each(node, &late_frees) {
        const struct content content = {.tree = container_of(node, struct late_free, node)->cut};

        content_each(&content, each, context);
    }
}

/* --- grants --- */

bool node_mapped_locked(const struct node *node)
{
    return node->maps != NULL && node->maps->all != 0;
}

bool node_maps_written_locked(const struct node *node)
{
    return node->maps != NULL && node->maps->written;
}

void node_maps_free(struct node *node)
{
    heap_free(node->maps, sizeof(*node->maps));
}

static int grant_locked(struct node *node, uint32_t kernel, uint32_t more)
{
    if (node->maps == NULL) {
        node->maps = heap_alloc(sizeof(*node->maps));
        if (node->maps == NULL)
            return -ENOMEM;
        list_init(&node->maps->revocations);
    }
    if (node->maps->granted[kernel] > UINT32_MAX - more)
        return -EPROTO;
    node->maps->granted[kernel] += more;
    node->maps->all += more;
    __atomic_fetch_add(&node->references, more, __ATOMIC_RELAXED);
    return 0;
}

int node_maps_grant(struct node *node, uint32_t kernel, bool written)
{
    int error;

    spin_lock(&node->lock);
    error = grant_locked(node, kernel, 1);
    if (error == 0 && written)
        node->maps->written = true;
    spin_unlock(&node->lock);
    return error;
}

/* KERNEL has got a grant for a fork, whose child may have pages by way of its parent that are being revoked: it is to
 * be asked, too. The questions go to QUESTIONS. -ENOMEM. */
static int add_questions_locked(struct node *node, struct list *questions)
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

static int grant_more(struct node *node, uint32_t kernel, uint32_t more)
{
    struct list questions;
    int error;

    list_init(&questions);
    spin_lock(&node->lock);
    error = grant_locked(node, kernel, 0);
    if (error == 0)
        error = add_questions_locked(node, &questions);
    if (error == 0)
        error = grant_locked(node, kernel, more);
    list_for_each(at, &questions)
        container_of(at, struct question, node)->revocation->left += error == 0 ? 1 : 0;
    spin_unlock(&node->lock);
    list_for_each_safe(at, &questions) {
        struct question *question = container_of(at, struct question, node);

        list_remove(at);
        if (error == 0)
            ask(question, kernel);
        else
            heap_free(question, sizeof(*question));
    }
    return error;
}

static int grant_less(struct node *node, uint32_t kernel, uint32_t less, const struct file_stamps *stamps)
{
    bool last = false;
    int error = 0;

    spin_lock(&node->lock);
    if (node->maps == NULL || node->maps->granted[kernel] < less)
        error = -EPROTO;
    if (error == 0) {
        node->maps->granted[kernel] -= less;
        node->maps->all -= less;
        last = node->maps->all == 0;
        if (last)
            node->maps->written = false;
        /* the caller's reference is left */
        __atomic_fetch_sub(&node->references, less, __ATOMIC_RELAXED);
    }
    spin_unlock(&node->lock);
    if (error == 0 && node->segment != 0)
        shm_given_back(node, stamps, last);
    return error;
}

void node_maps_granted_locked(const struct node *node, uint32_t granted[KERNELS_MAX])
{
    for (uint32_t kernel = 0; kernel < KERNELS_MAX; kernel++)
        granted[kernel] = node->maps != NULL ? node->maps->granted[kernel] : 0;
}

static int hold_object(uint32_t object, uint32_t kernel, int64_t more, const struct file_stamps *stamps)
{
    struct node *node = node_find(object);
    int error;

    if (node == NULL)
        return -ENXIO;
    if (kernel >= KERNELS_MAX || more == 0 || more > INT32_MAX || more < -(int64_t)INT32_MAX)
        error = -EPROTO;
    else
        error = more > 0 ? grant_more(node, kernel, (uint32_t)more) : grant_less(node, kernel, (uint32_t)-more, stamps);
    node_put(node);
    return error;
}

static void switch_node(struct node *node, void *context)
{
    const uint32_t *roles = context;

    if (node->maps == NULL)
        return;
    node->maps->granted[roles[1]] += node->maps->granted[roles[0]];
    node->maps->granted[roles[0]] = 0;
}

void node_maps_switch(uint32_t from, uint32_t to)
{
    uint32_t roles[2] = {from, to};

    node_each(switch_node, roles);
}

/* --- pages --- */

static int page_once(uint32_t object, uint64_t page, bool write, uint64_t *frame)
{
    struct node *node = node_find(object);
    int error = -ENXIO;

    if (node == NULL)
        return -ENXIO;
    spin_lock(&node->lock);
    if ((node->mode & FILE_TYPE_MASK) == FILE_REGULAR)
        error = content_page(&node->content, page, write, frame);
    spin_unlock(&node->lock);
    node_put(node);
    return error;
}

static int object_page(uint32_t object, uint64_t page, bool write, uint64_t *frame)
{
    int error = object == BACKING_VDSO ? vdso_page(page, frame) : page_once(object, page, write, frame);

    return error == -ENOMEM && node_drop_idle() ? page_once(object, page, write, frame) : error;
}

static int copy_page(uint32_t object, uint64_t page, uint64_t frame)
{
    struct node *node = node_find(object);
    int error = -ENXIO;

    if (node == NULL)
        return -ENXIO;
    spin_lock(&node->lock);
    if ((node->mode & FILE_TYPE_MASK) == FILE_REGULAR)
        error = content_copy_page(&node->content, page, frame);
    spin_unlock(&node->lock);
    node_put(node);
    return error;
}

struct telling {
    void (*each)(uint64_t frame, void *context);
    void *context;
};

static void tell_frames(struct node *node, void *context)
{
    const struct telling *telling = context;

    content_each(&node->content, telling->each, telling->context);
}

static void each_frame(void (*each)(uint64_t frame, void *context), void *context)
{
    struct telling telling = {each, context};

    node_each(tell_frames, &telling);
    revocations_each(each, context);
    vdso_each(each, context);
}

void node_map_init(void)
{
    static const struct file_objects objects = {object_page, copy_page, each_frame, hold_object};

    list_init(&revocations);
    list_init(&late_frees);
    file_objects_serve(&objects);
    msg_register(MSG_FILE_SETTLE, handle_settle, sizeof(struct msg_file_settle), 0);
    revoke_init();
}
