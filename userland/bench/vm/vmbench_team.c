/* vmbench: teams, which operate at several places at once.
 *
 * Members are threads of one process or processes of one thread; the same code runs in both, and all that they share
 * lies in memory that processes share, too. They meet by counting, in user mode: a member that slept would be woken by
 * messages that are none of the operations'. A member that failed comes to all meetings nevertheless. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/bench/bench.h"
#include "userland/bench/vm/vmbench.h"
#include "userland/x86.h"

#define WARM_UP 2
#define LOOK_NS 1000000 /* between two looks whether all are there: who spins slows down who makes the others */

static struct team {
    const struct vmbench_work *work;
    int members;
    uint32_t count;
    atomic_bool begun;  /* all members are there, and who made them does nothing any more */
    atomic_int arrived; /* at all meetings so far */
    atomic_int error;   /* the first member's that failed */
    char *_Atomic range;
    uint64_t samples[VMBENCH_MEMBERS_MAX][VMBENCH_TEAM_COUNT_MAX];
} * team;

static struct vmbench_member members[VMBENCH_MEMBERS_MAX];

bool vmbench_no_times;

bool vmbench_team_share(void)
{
    void *memory = mmap(NULL, sizeof(*team), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    team = memory;
    return true;
}

uint32_t vmbench_team_rounds(uint32_t count)
{
    return WARM_UP + count * (vmbench_no_times ? 1 : 2);
}

void vmbench_range_set(char *range)
{
    atomic_store(&team->range, range);
}

char *vmbench_range(void)
{
    return atomic_load(&team->range);
}

void vmbench_meet(struct vmbench_member *member)
{
    int goal = ++member->meetings * team->members;

    atomic_fetch_add(&team->arrived, 1);
    while (atomic_load_explicit(&team->arrived, memory_order_acquire) < goal)
        x86_pause();
}

static void fail(int error)
{
    int none = 0;

    if (error != 0)
        atomic_compare_exchange_strong(&team->error, &none, error);
}

static void rounds(struct vmbench_member *member, uint32_t first, uint32_t count, bool timed)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t begin = timed ? bench_now() : 0;

        fail(team->work->operate(member, first + i));
        if (timed)
            team->samples[member->index][i] = bench_now() - begin;
    }
}

static void counted(struct vmbench_member *member, uint32_t first)
{
    bool leads = member->index == 0;

    vmbench_meet(member);
    if (leads) {
        fail(vmbench_messages_begin());
        bench_mark();
    }
    vmbench_meet(member);
    rounds(member, first, team->count, false);
    vmbench_meet(member);
    if (leads) {
        bench_unmark();
        fail(vmbench_messages_end());
    }
    vmbench_meet(member);
}

static void member_main(struct vmbench_member *member)
{
    uint32_t round = WARM_UP;

    while (!atomic_load(&team->begun))
        bench_rest(LOOK_NS);
    memset(team->samples[member->index], 0, team->count * sizeof(uint64_t)); /* touched now, not while measuring */
    if (team->work->prepare != NULL)
        fail(team->work->prepare(member));
    vmbench_meet(member);
    rounds(member, 0, WARM_UP, false);
    vmbench_meet(member);
    if (!vmbench_no_times) {
        rounds(member, round, team->count, true);
        round += team->count;
    }
    counted(member, round);
}

/* --- threads --- */

static void thread_main(struct thread *thread)
{
    struct vmbench_member *member = thread->argument;

    fail(bench_unbind());
    fail(bench_go(member->index));
    member_main(member);
}

/* They begin where the first one is, which is at home and leads. */
static int threads_run(void)
{
    for (int i = 1; i < team->members; i++) {
        members[i].thread.argument = &members[i];
        if (!thread_start(&members[i].thread, thread_main))
            return bench_failed("clone", errno);
    }
    atomic_store(&team->begun, true);
    member_main(&members[0]);
    for (int i = 1; i < team->members; i++) {
        if (!thread_join(&members[i].thread))
            return bench_failed("ending a thread", ETIMEDOUT);
    }
    return 0;
}

/* --- processes --- */

static pid_t process_start(struct vmbench_member *member, int *error)
{
    pid_t child;

    *error = bench_unbind();
    if (*error == 0)
        *error = bench_go(member->index);
    if (*error == 0)
        *error = bench_bind_here();
    if (*error != 0)
        return -1;
    child = fork();
    if (child == 0) {
        fail(bench_unbind());
        member_main(member);
        _exit(0);
    }
    if (child < 0)
        *error = bench_failed("fork", errno);
    return child;
}

static void kill_all(const pid_t *children, int count)
{
    for (int i = 0; i < count; i++) {
        if (children[i] > 0)
            kill(children[i], SIGKILL);
    }
}

/* Each is at home at its place. When one dies the others wait for it in vain: so they end, too. */
static int processes_run(void)
{
    pid_t children[VMBENCH_MEMBERS_MAX];
    int error = 0;
    int count = 0;
    int home;

    while (count < team->members && error == 0) {
        pid_t child = process_start(&members[count], &error);

        if (child > 0)
            children[count++] = child;
    }
    home = bench_go_home();
    error = error != 0 ? error : home;
    if (error != 0)
        kill_all(children, count);
    atomic_store(&team->begun, true);
    for (int left = count; left > 0; left--) {
        int status;
        pid_t child = wait(&status);

        if (child < 0)
            return bench_failed("wait", errno);
        for (int i = 0; i < count; i++)
            children[i] = children[i] == child ? 0 : children[i];
        if (status == 0 || error != 0)
            continue;
        error = bench_failed("a process of the team has died", ECHILD);
        kill_all(children, count);
    }
    return error;
}

int vmbench_team_run(const struct vmbench_case *bench, const struct vmbench_work *work, uint32_t count)
{
    int operators = work->leads ? 1 : bench->members;
    int error;

    if (count > VMBENCH_TEAM_COUNT_MAX)
        return bench_failed("so many operations", EINVAL);
    team->work = work;
    team->members = bench->members;
    team->count = count;
    atomic_store(&team->begun, false);
    atomic_store(&team->arrived, 0);
    atomic_store(&team->error, 0);
    atomic_store(&team->range, NULL);
    for (int i = 0; i < bench->members; i++)
        members[i] = (struct vmbench_member){.index = i, .pages = bench->pages};
    error = bench->shape == SHAPE_PROCESSES ? processes_run() : threads_run();
    if (error == 0)
        error = atomic_load(&team->error);
    if (error != 0)
        return error;
    for (int i = 0; i < operators && !vmbench_no_times; i++) {
        for (uint32_t j = 0; j < count; j++)
            bench_sample_add(team->samples[i][j]);
    }
    bench_operations_add((uint64_t)count * (uint64_t)operators);
    return 0;
}
