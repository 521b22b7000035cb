/* wait4 looks at many children in parts, and something may happen between two of them.
 * sources: kernel/calls/process/wait.c */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/events/pidfd.h"
#include "kernel/calls/process/rusage.h"
#include "mm/user/user_copy.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/remote/watch.h"
#include "tasks/thread/thread.h"
#include "tasks/user/deliver.h"
#include "tests/test.h"

#define PART 1000u /* where the second part begins */
#define CHILD 42u

struct cpu *test_cpu;
bool cpu_several;

/* An answer of the home to the wait from PLACE on. */
struct answer {
    uint32_t place;
    int64_t error;
    uint32_t child, next;
    uint64_t events;
};

static const struct answer *answers;
static uint32_t asked, count;
static uint64_t seen; /* events, by who waits for more */
static uint32_t waits;

int64_t process_call(const struct msg_process_call *call, struct msg_process_result *result)
{
    const struct answer *answer = &answers[asked];

    CHECK(asked < count);
    CHECK_EQ(call->wait.place, answer->place);
    asked++;
    *result = (struct msg_process_result){.child = answer->child, .place = answer->next, .events = answer->events};
    return answer->error;
}

int watch_wait_at(uint32_t kernel, enum watch_kind kind, uint64_t id, uint64_t events, const char *why,
                  uint64_t deadline)
{
    (void)kernel;
    (void)id;
    (void)why;
    CHECK(kind == WATCH_CHILDREN && deadline == 0);
    seen = events;
    waits++;
    return 0;
}

uint32_t process_home(uint32_t id)
{
    (void)id;
    return 0;
}

uint64_t rdtsc_unordered(void)
{
    return 0;
}

bool slice_pause(void)
{
    return false;
}

/* Not called here. */
int64_t process_call_surely(const struct msg_process_call *call, struct msg_process_result *result)
{
    (void)call;
    (void)result;
    CHECK(false);
    return 0;
}

int64_t pidfd_find(int64_t fd, struct pidfd_facts *facts)
{
    (void)fd;
    (void)facts;
    CHECK(false);
    return 0;
}

int64_t rusage_write(uint64_t to, uint64_t user_ns, uint64_t system_ns, const struct account_used *used)
{
    (void)to;
    (void)user_ns;
    (void)system_ns;
    (void)used;
    CHECK(false);
    return 0;
}

void signal_info_to_user(const struct signal_info *info, uint8_t user[128])
{
    (void)info;
    (void)user;
    CHECK(false);
}

int user_write(uint64_t to, const void *from, uint64_t size)
{
    (void)to;
    (void)from;
    (void)size;
    CHECK(false);
    return 0;
}

/* Waits for a child of group 5. */
static int64_t wait_for_one(const struct answer *is, uint32_t number)
{
    static struct group group = {.id = 7};
    static struct thread thread = {.group = &group};
    static struct cpu cpu = {.thread = &thread};
    static const uint64_t arguments[6] = {(uint64_t)-5};
    struct call call = {.a = arguments};

    test_cpu = &cpu;
    answers = is;
    count = number;
    asked = waits = 0;
    return call_wait4(&call);
}

TEST(wait_none, "there is no child if none was found in any part and nothing has happened meanwhile")
{
    static const struct answer is[] = {{0, -ECHILD, 0, PART, 3}, {PART, -ECHILD, 0, 0, 3}};

    CHECK_EQ(wait_for_one(is, 2), -ECHILD);
    CHECK(asked == 2 && waits == 0);
}

TEST(wait_joined, "a child that joins the group in a part that was looked at before is found by another look")
{
    static const struct answer is[] = {
        {0, -ECHILD, 0, PART, 3}, {PART, -ECHILD, 0, 0, 4}, {0, -ECHILD, 0, PART, 4}, {PART, 0, CHILD, 0, 4}};

    CHECK_EQ(wait_for_one(is, 4), CHILD);
    CHECK_EQ(waits, 0);
}

TEST(wait_event, "who waits has seen what had happened before the first part, and so is woken by what came later")
{
    static const struct answer is[] = {{0, 0, 0, PART, 3}, {PART, -ECHILD, 0, 0, 4}, {0, 0, CHILD, 0, 4}};

    CHECK_EQ(wait_for_one(is, 3), CHILD);
    CHECK(waits == 1 && seen == 3);
}
