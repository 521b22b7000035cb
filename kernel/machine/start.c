/* Starting the other instances: kernel 0 builds each in its own memory, starts its boot CPU, waits until it announces
 * itself, and then announces all running kernels to each of them. A start at boot and a start on request take the same
 * path. boot/boot.md has the protocol. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "kernel/machine/image.h"
#include "kernel/machine/machine.h"
#include "mm/lock/lock.h"
#include "msg/alive.h"
#include "msg/channel.h"
#include "tasks/remote/operation.h"
#include "tasks/role/role.h"
#include "tasks/sched/sched.h"
#include "tasks/sched/waitq.h"

#define COMPARE_TIMEOUT 1000000000ull /* ns */
#define READY_TIMEOUT 20000000000ull  /* ns; an instance that starts at all is ready within milliseconds */

struct msg_ready {
    uint32_t kernel;
    uint32_t pad;
};

struct msg_start {           /* START_KERNEL */
    uint64_t kernels;        /* with an image: one, or none: only check the image */
    struct file_place image; /* the open file that has it; id 0: the image that the machine was booted from */
};

struct msg_started {
    uint64_t reachable; /* kernels that run */
    uint64_t started;   /* of these, the kernels that every other kernel can reach, so that programs may go there */
};

static struct spinlock lock;
static struct waitq changed; /* [k] lock */
static kernel_set ready;     /* [k] lock, kernel 0: instances that have announced themselves, and 0 */
static bool starting;        /* [k] lock, kernel 0: a task starts or stops kernels; it alone uses `built` and `told` */
static kernel_set built; /* instances whose boot CPU has left the trampoline; they are built again only after a stop */
static bool stopping;    /* [k] lock, kernel 0: that task stops a kernel; starts then fail instead of waiting for it */
static kernel_set notified = 1; /* instances that have been announced to all others */

static void handle_ready(const struct msg *m)
{
    spin_lock(&lock);
    ready |= 1ull << m->ticket.kernel;
    msg_peer_reach(m->ticket.kernel);
    waitq_wake_all(&changed);
    spin_unlock(&lock);
}

static void learn(const struct msg_started *message)
{
    for (uint32_t k = 0; k < instance.kernels; k++) {
        if ((message->reachable >> k & 1) != 0)
            msg_peer_reach(k);
        if ((message->started >> k & 1) != 0)
            msg_peer_start(k);
    }
}

static int run_started(const struct remote_request *request, void *result)
{
    (void)result;
    learn(request->data);
    return 0;
}

static int run_roles(const struct remote_request *request, void *result)
{
    (void)result;
    role_learn(request->data);
    return 0;
}

void start_announce(void)
{
    struct msg_ready message = {.kernel = instance.kernel};

    msg_peer_reach(0);
    msg_notify(0, MSG_READY, &message, sizeof(message));
}

/* Puts the text that kernel K runs into the chunk of the kernel that has it, if that is another one, which may not have
 * been built yet. */
static int text_build(uint32_t k, const struct image_template *template)
{
    static kernel_set made; /* whose texts have been put there */
    uint32_t owner = instance_text_owner(&instance, k);
    int error;

    if (owner == k || owner == instance.kernel || (made >> owner & 1) != 0)
        return 0;
    error = window_map(CHUNK_BASE, instance.plan.kernels[owner].chunk, image_constants_size(template->header),
                       PAGING_WRITE);
    if (error != 0)
        return error;
    memcpy((void *)CHUNK_BASE, template->bytes, (size_t)image_constants_size(template->header));
    window_unmap(CHUNK_BASE, image_constants_size(template->header));
    made |= 1ull << owner;
    return 0;
}

/* Starts the boot CPU of kernel K, which has been built. The caller pauses its heartbeat (alive_pause). */
static int enter(uint32_t k, uint64_t root, uint64_t stack)
{
    uint32_t rounds = window_boot_page()->clock.rounds;
    uint64_t deadline;
    bool entered;

    entered = instance_start_cpu(instance.plan.kernels[k].boot_cpu, root, stack);
    deadline = clock_now() + COMPARE_TIMEOUT;
    while (entered && window_boot_page()->clock.rounds == rounds && clock_now() < deadline)
        clock_compare();
    if (!entered)
        log_line("kernel: kernel %u does not start", k);
    return entered ? 0 : -ETIMEDOUT;
}

/* Builds kernel K through a window on its chunk and gives its boot CPU its start slot. Waits for no task, and a loaded
 * host may take long to copy an image: the caller pauses this kernel's heartbeat. */
static int build(uint32_t k)
{
    static struct image_template template = {.header = &image_header};
    uint64_t chunk = instance.plan.kernels[k].chunk;
    uint64_t template_size = (uint64_t)(image_data_end - image_start);
    uint64_t stack, root;
    int error = 0;

    if (template.bytes == NULL) {
        error = window_map(TEMPLATE_BASE, (uint64_t)image_start - KERNEL_BASE,
                           (template_size + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1), 0);
        if (error == 0)
            template.bytes = (const uint8_t *)TEMPLATE_BASE;
    }
    if (error == 0)
        error = text_build(k, &template);
    if (error == 0)
        error = window_map(CHUNK_BASE, chunk, instance.layout.size, PAGING_WRITE);
    if (error != 0)
        return error;
    root = instance_build(&instance, k, (uint8_t *)CHUNK_BASE, &template, &stack);
    window_unmap(CHUNK_BASE, instance.layout.size);
    return enter(k, root, stack);
}

/* The same from the image in the file at PLACE, which is read to its place behind the chunk: K does not run, so nobody
 * uses that memory. Unless the whole image is there and good, nothing is built. */
static int build_from(uint32_t k, const struct file_place *place)
{
    struct image_header header;
    const struct image_template from = {.header = &header};
    uint64_t size, mapped, stack, root = 0;
    int error = image_read(place, NULL, instance_room(&instance.plan, k), &header);

    if (error != 0)
        return error;
    size = image_size(&header);
    mapped = instance.layout.size + size;
    error = window_map(CHUNK_BASE, instance.plan.kernels[k].chunk, mapped, PAGING_WRITE);
    if (error == 0) /* again, for the file may be another one now */
        error = image_read(place, (uint8_t *)CHUNK_BASE + instance.layout.size, size, &header);
    alive_pause(true);
    if (error == 0)
        root = instance_build(&instance, k, (uint8_t *)CHUNK_BASE, &from, &stack);
    window_unmap(CHUNK_BASE, mapped);
    if (error == 0)
        error = enter(k, root, stack);
    alive_pause(false);
    return error;
}

static void wait_ready(kernel_set wanted)
{
    static const struct wait_reason reason = {.what = "kernels to announce themselves", .kernel = -1};
    uint64_t deadline = clock_now() + READY_TIMEOUT;

    spin_lock(&lock);
    while ((ready & wanted) != wanted && clock_now() < deadline)
        waitq_wait(&changed, &lock, &reason, WAIT_FIRM, deadline);
    spin_unlock(&lock);
}

/* Kernels that are watched survive one another's death. */
static void watch(kernel_set kernels)
{
    if (alive_survives() && space_lock_survives())
        __atomic_store_n(&window_boot_page()->watched, kernels & ~1ull, __ATOMIC_SEQ_CST);
}

/* Announces KERNELS in two rounds, because a program may go to a new kernel only when every kernel on which it may have
 * threads can reach that kernel. The new ones have both before a program can come: then they know who gives frames. */
static void notify_all(kernel_set kernels)
{
    struct msg_started message = {.reachable = kernels, .started = notified};
    kernel_set new = kernels & ~notified;

    msg_gather(kernels & ~1ull, MSG_STARTED, &message, sizeof(message), NULL, NULL, "kernels to hear who runs", 0);
    message.started = kernels;
    msg_gather(new, MSG_STARTED, &message, sizeof(message), NULL, NULL, "new kernels to hear who runs", 0);
    learn(&message);
    msg_gather(kernels & ~new & ~1ull, MSG_STARTED, &message, sizeof(message), NULL, NULL, "kernels to hear who runs",
               0);
    for (; new != 0; new &= new - 1)
        alive_watch((uint32_t)__builtin_ctzll(new));
    notified = kernels;
    watch(kernels);
}

/* Gives each kernel of NEW a role of its own. All RUNNING kernels learn the role before that kernel makes an id. */
static void notify_roles(kernel_set new, kernel_set running)
{
    static struct role_table table;

    for (; new != 0; new &= new - 1) {
        role_renew((uint32_t)__builtin_ctzll(new), &table);
        role_learn(&table);
        msg_gather(running & ~1ull, MSG_ROLES, &table, sizeof(table), NULL, NULL, "kernels to hear of a role", 0);
    }
}

/* PLACE: the file of the image from which the one kernel of SET starts; NULL: the booted one. */
static int start_here(kernel_set set, const struct file_place *place)
{
    kernel_set wanted = set;
    kernel_set running;
    int error = 0, error_of_one;

    spin_lock(&lock);
    if (place != NULL && (set & ready) != 0)
        error = -EBUSY;
    set &= ~ready;
    spin_unlock(&lock);
    if (place != NULL && (set & built) != 0)
        error = -EBUSY; /* it runs, with another image, and was too slow */
    if (error != 0)
        return error;
    if (set != 0 && role_room() < kernel_set_count(set))
        return -ENOSPC;
    for (kernel_set rest = set; rest != 0; rest &= rest - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(rest);

        if ((built >> k & 1) != 0)
            continue; /* it was too slow for an earlier start, but runs: its memory must not be written again */
        if (place == NULL) {
            alive_pause(true);
            error_of_one = build(k);
            alive_pause(false);
        } else {
            error_of_one = build_from(k, place);
        }
        if (error_of_one == 0) {
            built |= 1ull << k;
        } else {
            wanted &= ~(1ull << k);
            error = error_of_one;
        }
    }
    wait_ready(wanted);
    spin_lock(&lock);
    if ((ready & wanted) != wanted)
        error = -ETIMEDOUT;
    running = ready;
    spin_unlock(&lock);
    if (running != notified) {
        notify_roles(running & ~notified, running);
        notify_all(running);
    }
    return error;
}

static int run_start(const struct remote_request *request, void *result)
{
    static const struct wait_reason reason = {.what = "another start of kernels", .kernel = -1};
    kernel_set all = instance.kernels == 64 ? ~0ull : (1ull << instance.kernels) - 1;
    const struct msg_start *message = request->data;
    kernel_set set = message->kernels;
    const struct file_place *place = message->image.id != 0 ? &message->image : NULL;
    struct image_header header;
    int error;

    (void)result;
    if ((set & ~all) != 0)
        return -EINVAL;
    if (place != NULL && kernel_set_count(set) > 1)
        return -EINVAL;
    if (place != NULL && set == 0)
        return image_read(place, NULL, UINT64_MAX, &header);
    spin_lock(&lock);
    while (starting && !stopping)
        waitq_wait(&changed, &lock, &reason, WAIT_FIRM, 0);
    if (stopping) {
        spin_unlock(&lock);
        return -EAGAIN;
    }
    starting = true;
    spin_unlock(&lock);
    error = start_here(set, place);
    start_release();
    return error;
}

int start_kernels(kernel_set set)
{
    const struct remote_how how = {.why = "start of kernels", .key = set};
    struct msg_start message = {.kernels = set};

    return remote_call(0, MSG_START_KERNEL, &message, sizeof(message), NULL, 0, &how);
}

int start_image(uint32_t kernel, const struct file_place *place)
{
    const struct remote_how how = {.why = "start of a kernel from an image", .key = kernel};
    struct msg_start message = {.kernels = kernel < instance.kernels ? 1ull << kernel : 0, .image = *place};

    return remote_call(0, MSG_START_KERNEL, &message, sizeof(message), NULL, 0, &how);
}

void start_init(void)
{
    waitq_init(&changed);
    ready = 1;
    msg_register(MSG_READY, handle_ready, sizeof(struct msg_ready), 0);
    REMOTE_SERVE(STARTED, run_started, NULL, struct msg_started, struct msg_none);
    REMOTE_SERVE(ROLES, run_roles, NULL, struct role_table, struct msg_none);
    REMOTE_SERVE_TASK(START_KERNEL, WORK_PROGRAMS, run_start, NULL, struct msg_start, struct msg_none);
}

void start_exclude(void)
{
    static const struct wait_reason reason = {.what = "a start of kernels", .kernel = -1};

    spin_lock(&lock);
    while (starting)
        waitq_wait(&changed, &lock, &reason, WAIT_FIRM, 0);
    starting = stopping = true;
    waitq_wake_all(&changed);
    spin_unlock(&lock);
}

void start_release(void)
{
    spin_lock(&lock);
    starting = stopping = false;
    waitq_wake_all(&changed);
    spin_unlock(&lock);
}

kernel_set start_running(void)
{
    return notified;
}

void start_forget(uint32_t kernel)
{
    kernel_set bit = 1ull << kernel;

    spin_lock(&lock);
    ready &= ~bit;
    spin_unlock(&lock);
    built &= ~bit;
    notified &= ~bit;
    alive_forget(kernel);
    watch(notified);
}
