/* The state of a moving thread: what arrives is what left, and what no correct kernel sends is refused. The FPU has two
 * components besides x87 and SSE, one behind a gap. tests/guest/tasks/test-thread-state.c has the whole with real ones.
 *
 * sources: tasks/migrate/state.c */
#include "tasks/migrate/state.h"

#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/instance.h"
#include "mm/space/space.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/thread/group.h"
#include "tests/test.h"

#define X87_SSE 3ull
#define AVX (1ull << 2)
#define FAR (1ull << 9)
#define ALL (X87_SSE | AVX | FAR)
#define AREA_SIZE 2048u
#define HEADER 512u /* where the area has its components */
#define MXCSR 24u   /* and the control word of SSE */
#define MXCSR_BAD 0x10000u
#define SENT 2u /* signals, and donations */

struct instance instance = {.kernel = 1, .kernels = 4};
struct fpu_part fpu_parts[FPU_PARTS_MAX] = {{576, 256, 2}, {1024, 8, 9}};
uint32_t fpu_part_count = 2;

uint64_t fpu_components_all(void)
{
    return ALL;
}

uint64_t fpu_components(const void *area)
{
    uint64_t components;

    memcpy(&components, (const uint8_t *)area + HEADER, sizeof(components));
    return components;
}

void fpu_set_components(void *area, uint64_t components)
{
    memcpy((uint8_t *)area + HEADER, &components, sizeof(components));
}

bool fpu_area_valid(const void *area)
{
    uint32_t mxcsr;

    memcpy(&mxcsr, (const uint8_t *)area + MXCSR, sizeof(mxcsr));
    return (mxcsr & MXCSR_BAD) == 0 && (fpu_components(area) & ~ALL) == 0;
}

uint64_t clock_now(void)
{
    return 5;
}

/* Queues and donations only count here: their rooms have tests of their own. */
static uint32_t added, removed, donations_set;
static int donations_error;

int signal_queue_add(struct signal_queue *queue, const struct signal_info *info, uint32_t uid, uint64_t limit)
{
    (void)queue;
    (void)uid;
    CHECK(info->signal == 10 + added && limit == UINT64_MAX);
    added++;
    return 0;
}

void signal_queue_remove(struct signal_queue *queue, uint64_t set)
{
    (void)queue;
    CHECK(set == ~0ull && added == 0);
    removed++;
}

uint32_t signal_queue_list(const struct signal_queue *queue, struct signal_info *out, uint32_t max)
{
    CHECK_EQ(max, queue->count);
    for (uint32_t i = 0; i < max; i++)
        out[i] = (struct signal_info){.signal = 10 + i};
    return max;
}

uint32_t pi_donations_count(const struct thread *thread)
{
    return thread->signals.count;
}

void pi_donations_list(const struct thread *thread, struct pi_donation_update *out)
{
    for (uint32_t i = 0; i < thread->signals.count; i++)
        out[i] = (struct pi_donation_update){.stamp = 20 + i};
}

int pi_donations_set(struct thread *thread, const struct pi_donation_update *donations, uint32_t count)
{
    (void)thread;
    for (uint32_t i = 0; i < count; i++)
        CHECK_EQ(donations[i].stamp, 20 + i);
    donations_set += count;
    return donations_error;
}

static struct space space;
static struct group group = {.id = 70, .home = 2, .space = &space};

/* A thread all of whose bytes that move are FILL or follow from it. */
static struct thread *thread_of(uint8_t fill, uint64_t components)
{
    struct thread *thread = calloc(1, sizeof(*thread));
    uint64_t low = UINT64_MAX >> 20;

    thread->group = &group;
    thread->tid = 71;
    thread->stack = (uint64_t)calloc(1, STACK_SIZE);
    thread->fpu = aligned_alloc(64, AREA_SIZE);
    memset(thread->fpu, fill, AREA_SIZE);
    memset((uint8_t *)thread->fpu + MXCSR, 0, 4);
    fpu_set_components(thread->fpu, components);
    memset(&thread->context, fill, sizeof(thread->context));
    thread->context.fs_base &= low;
    thread->context.gs_base &= low;
    memset(thread_frame(thread), fill, sizeof(struct trap_frame));
    thread_frame(thread)->rip &= low;
    return thread;
}

static void thread_end(struct thread *thread)
{
    free((void *)thread->stack);
    free(thread->fpu);
    free(thread);
}

static struct msg_migrate *message;
static struct msg m;

/* The message of a thread with these components. */
static void send_one(uint64_t components)
{
    struct thread *thread = thread_of(0x11, components);
    struct msg_migrate *filled;
    uint32_t bound;

    state_init();
    added = removed = donations_set = 0;
    donations_error = 0;
    thread->signals.count = SENT;
    bound = state_bound(thread);
    filled = malloc(bound);
    state_fill(thread, 3, filled);
    CHECK(state_length(filled) <= bound);
    message = malloc(state_length(filled)); /* the sanitizer sees who reads behind it */
    memcpy(message, filled, state_length(filled));
    free(filled);
    m = (struct msg){.length = state_length(message), .data = message};
    thread_end(thread);
}

TEST(whole, "a thread arrives with the registers, signals and donations with which it has left")
{
    static const uint64_t sets[] = {0, X87_SSE, AVX, FAR, ALL};

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        struct thread *to = thread_of(0xee, ALL);
        const uint8_t *fpu = to->fpu;

        send_one(sets[i]);
        CHECK(state_valid(&m) && state_install(to, message) == 0);
        CHECK(message->group == 70 && message->thread == 71 && message->visited == 1 << 3 && message->clock == 5);
        CHECK(thread_frame(to)->rbx == 0x1111111111111111ull && thread_frame(to)->cs == SELECTOR_USER_CODE);
        CHECK((thread_frame(to)->rflags & ~(uint64_t)RFLAGS_USER_MASK & ~(uint64_t)RFLAGS_USER_DEFAULT) == 0);
        CHECK(to->context.signal_mask == 0x1111111111111111ull && to->context.name[THREAD_NAME_MAX - 1] == '\0');
        CHECK_EQ(fpu_components(fpu), sets[i]);
        CHECK(fpu[0] == 0x11 && fpu[FPU_BASIC_SIZE - 1] == 0x11 && fpu[FPU_BASIC_SIZE] == 0xee);
        CHECK(fpu[576] == ((sets[i] & AVX) != 0 ? 0x11 : 0xee) && fpu[831] == fpu[576] && fpu[832] == 0xee);
        CHECK(fpu[1024] == ((sets[i] & FAR) != 0 ? 0x11 : 0xee) && fpu[1031] == fpu[1024] && fpu[1032] == 0xee);
        CHECK(removed == 1 && added == SENT && donations_set == SENT);
        thread_end(to);
        free(message);
    }
}

/* Sends, and damages the message: it is not valid. */
#define REFUSED(...)                                                                                                   \
    do {                                                                                                               \
        send_one(X87_SSE | AVX);                                                                                       \
        CHECK(state_valid(&m));                                                                                        \
        __VA_ARGS__;                                                                                                   \
        CHECK(!state_valid(&m));                                                                                       \
        free(message);                                                                                                 \
    } while (0)

TEST(damaged, "a message whose fields are out of range, or do not fit its length or each other, is not valid")
{
    REFUSED(m.length -= 8);
    REFUSED(m.length += 8);
    REFUSED(message->state -= 8);
    REFUSED(message->state += 8);
    REFUSED(message->state += 8, m.length += 8);
    REFUSED(message->state = UINT32_MAX - 7);
    REFUSED(message->components |= 1ull << 17); /* not of this machine */
    REFUSED(message->components |= 1ull << 63);
    REFUSED(message->components |= FAR); /* its bytes are not there */
    REFUSED(message->components &= ~AVX);
    REFUSED(message->components ^= AVX | FAR);
    REFUSED(message->visited |= 1 << 4);
    REFUSED(message->home = 4);
    REFUSED(message->signals = SIGNAL_QUEUE_MAX + 1);
    REFUSED(message->signals++);
    REFUSED(message->donations++);
    REFUSED(message->donations = UINT32_MAX);
    REFUSED(((struct signal_info *)((uint8_t *)(message + 1) + message->state))[1].signal = 0);
    REFUSED(((struct signal_info *)((uint8_t *)(message + 1) + message->state))[1].signal = SIGNALS + 1);
}

static struct thread_context *context_of(void)
{
    return (struct thread_context *)(void *)(message + 1);
}

static struct trap_frame *frame_of(void)
{
    return (struct trap_frame *)(void *)(context_of() + 1);
}

/* Sends, and damages the state: it is not installed. */
#define NOT_INSTALLED(error, ...)                                                                                      \
    do {                                                                                                               \
        struct thread *to = thread_of(0, 0);                                                                           \
                                                                                                                       \
        send_one(ALL);                                                                                                 \
        __VA_ARGS__;                                                                                                   \
        CHECK(state_valid(&m));                                                                                        \
        CHECK_EQ(state_install(to, message), -(error));                                                                \
        CHECK(removed == 0 && added == 0);                                                                             \
        thread_end(to);                                                                                                \
        free(message);                                                                                                 \
    } while (0)

TEST(faults, "a state that would fault in the kernel, or for which there is no memory, is not installed")
{
    NOT_INSTALLED(EPROTO, ((uint8_t *)(frame_of() + 1))[MXCSR + 2] = MXCSR_BAD >> 16);
    NOT_INSTALLED(EPROTO, frame_of()->rip = USER_END);
    NOT_INSTALLED(EPROTO, context_of()->fs_base = UINT64_MAX);
    NOT_INSTALLED(EPROTO, context_of()->gs_base = USER_END);
    NOT_INSTALLED(ENOMEM, donations_error = -ENOMEM);
}
