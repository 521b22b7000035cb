/* test-shm: System V shared memory (shmget(2)) between processes on all kernels. */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"

#define KEY 0x4b5f
#define FAILED ((void *)-1)

#ifndef SHM_EXEC
#define SHM_EXEC 0100000
#endif
#ifndef SHM_STAT_ANY
#define SHM_STAT_ANY 15
#endif

static int id;

static long attached(void)
{
    struct shmid_ds facts;

    return shmctl(id, IPC_STAT, &facts) == 0 ? (long)facts.shm_nattch : -errno;
}

static struct shmid_ds facts_of(void)
{
    struct shmid_ds facts = {.shm_segsz = 0};

    CHECK(shmctl(id, IPC_STAT, &facts) == 0, "%s", strerror(errno));
    return facts;
}

static void begin(size_t size)
{
    id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
    CHECK(id >= 0, "%s", strerror(errno));
}

static void removes(void)
{
    CHECK(shmctl(id, IPC_RMID, NULL) == 0, "%s", strerror(errno));
}

static void test_get(void)
{
    int other;

    id = shmget(KEY, 5000, IPC_CREAT | IPC_EXCL | 0600);
    CHECK(id >= 0, "%s", strerror(errno));
    CHECK_ERROR(shmget(KEY, 5000, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(shmget(KEY, 0, 0) == id && shmget(KEY, 5000, 0600) == id, "%s", strerror(errno));
        CHECK_ERROR(shmget(KEY, 5001, 0), EINVAL);
        CHECK_ERROR(shmget(KEY + 1, 1, 0), ENOENT);
        CHECK_ERROR(shmget(IPC_PRIVATE, 0, 0600), EINVAL);
        CHECK_ERROR(shmget(IPC_PRIVATE, SIZE_MAX, 0600), EINVAL);
        CHECK_ERROR(shmget(IPC_PRIVATE, 1ul << 46, 0600), ENOMEM);
        CHECK_ERROR(shmget(IPC_PRIVATE, 2ul << 20, 0600 | SHM_HUGETLB), ENOMEM);
        other = shmget(IPC_PRIVATE, 1, 0600);
        CHECK(other >= 0 && other != id && shmctl(other, IPC_RMID, NULL) == 0, "%s", strerror(errno));
        CHECK_ERROR(shmctl(other, IPC_RMID, NULL), EINVAL);
        CHECK(shmat(other, NULL, 0) == FAILED && errno == EINVAL, "%s", strerror(errno));
    }
    removes();
    CHECK_ERROR(shmget(KEY, 1, 0), ENOENT);
}

static void test_facts(void)
{
    struct timespec now;
    struct shmid_ds facts;
    time_t before;
    char *area;

    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* Linux's stamps are no finer */
    before = now.tv_sec;
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        begin(5000);
        facts = facts_of();
        CHECK(facts.shm_segsz == 5000 && facts.shm_nattch == 0 && facts.shm_cpid == getpid() && facts.shm_lpid == 0 &&
                  facts.shm_atime == 0 && facts.shm_dtime == 0 && facts.shm_ctime >= before &&
                  (facts.shm_perm.mode & 07777) == 0600 && facts.shm_perm.uid == geteuid(),
              "a new one: %ld bytes, %ld attached, mode %o", (long)facts.shm_segsz, (long)facts.shm_nattch,
              facts.shm_perm.mode);
        area = shmat(id, NULL, 0);
        facts = facts_of();
        CHECK(area != FAILED && facts.shm_nattch == 1 && facts.shm_lpid == getpid() && facts.shm_atime >= before &&
                  facts.shm_dtime == 0,
              "attached: %ld, by %d", (long)facts.shm_nattch, facts.shm_lpid);
        CHECK(shmdt(area) == 0, "%s", strerror(errno));
        facts = facts_of();
        CHECK(facts.shm_nattch == 0 && facts.shm_dtime >= before, "detached: %ld", (long)facts.shm_nattch);
        CHECK_ERROR(shmdt(area), EINVAL);
        facts.shm_perm.mode = 0644;
        CHECK(shmctl(id, IPC_SET, &facts) == 0 && (facts_of().shm_perm.mode & 0777) == 0644, "%s", strerror(errno));
        CHECK(shmctl(id, SHM_LOCK, NULL) == 0 && (facts_of().shm_perm.mode & SHM_LOCKED) != 0, "%s", strerror(errno));
        CHECK(shmctl(id, SHM_UNLOCK, NULL) == 0 && (facts_of().shm_perm.mode & SHM_LOCKED) == 0, "%s", strerror(errno));
        CHECK_ERROR(shmctl(id, 99, &facts), EINVAL);
        CHECK_ERROR(shmctl(-1, IPC_STAT, &facts), EINVAL);
        CHECK_ERROR(shmctl(id, IPC_STAT, TAP_UNMAPPED), EFAULT);
        removes();
        CHECK(attached() == -EINVAL, "it is there: %ld", attached());
    }
}

/* Each kernel's bytes are seen on all others, through two places of one process. */
static void test_bytes(void)
{
    char *one, *two;

    begin(4 * PAGE);
    kernels_go(0);
    one = shmat(id, NULL, 0);
    two = shmat(id, NULL, 0);
    if (!CHECK(one != FAILED && two != FAILED && one != two, "%s", strerror(errno)))
        return;
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        for (int i = 0; i < 4; i++)
            one[i * PAGE + k] = (char)(k + i + 1);
    }
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        for (int i = 0; i < 4; i++) {
            for (int n = 0; n < kernels_count(); n++)
                CHECK(two[i * PAGE + n] == n + i + 1, "page %d of kernel %d: %d", i, n, two[i * PAGE + n]);
        }
    }
    CHECK(attached() == 2, "%ld", attached());
    CHECK(shmdt(one) == 0 && two[1] == (kernels_count() > 1 ? 2 : 0) && attached() == 1, "%s", strerror(errno));
    CHECK(shmdt(two) == 0 && attached() == 0, "%s", strerror(errno));
    two = shmat(id, NULL, 0);
    CHECK(two != FAILED && two[0] == 1, "what was written stays: %d", two[0]);
    CHECK(shmdt(two) == 0, "%s", strerror(errno));
    removes();
}

static void test_places(void)
{
    char *room = spread_memory_map(8, PRIVATE), *area;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        begin(2 * PAGE);
        CHECK(shmat(id, room, 0) == FAILED && errno == EINVAL, "taken: %s", strerror(errno));
        CHECK(shmat(id, room + 1, SHM_REMAP) == FAILED && errno == EINVAL, "no page: %s", strerror(errno));
        CHECK(shmat(id, (void *)-PAGE, 0) == FAILED && errno == EINVAL, "over the end: %s", strerror(errno));
        CHECK(shmat(id, NULL, SHM_REMAP) == FAILED && errno == EINVAL, "nowhere: %s", strerror(errno));
        CHECK(attached() == 0, "%ld", attached());
        room[0] = 1;
        area = shmat(id, room + PAGE + 5, SHM_REMAP | SHM_RND);
        CHECK(area == room + PAGE && area[0] == 0 && room[0] == 1 && attached() == 1, "%s", strerror(errno));
        area[PAGE] = 7;
        CHECK(shmat(id, room + 2 * PAGE, SHM_REMAP) == room + 2 * PAGE && room[3 * PAGE] == 7, "%s", strerror(errno));
        CHECK(attached() == 2, "one cut short by another: %ld", attached());
        CHECK_ERROR(shmdt(room), EINVAL);
        CHECK_ERROR(shmdt(room + 3 * PAGE), EINVAL);
        CHECK_ERROR(shmdt(room + 1), EINVAL);
        CHECK(shmdt(room + PAGE) == 0 && attached() == 1, "%s", strerror(errno));
        CHECK(shmdt(room + 2 * PAGE) == 0 && attached() == 0, "%s", strerror(errno));
        CHECK(!memory_readable(room + PAGE) && !memory_readable(room + 3 * PAGE), "still there");
        CHECK(shmat(id, room + PAGE, 0) == room + PAGE && attached() == 1 && munmap(room + PAGE, 2 * PAGE) == 0 &&
                  attached() == 0,
              "%s", strerror(errno));
        CHECK(mmap(room + PAGE, 3 * PAGE, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0) == room + PAGE, "%s",
              strerror(errno));
        removes();
    }
    munmap(room, 8 * PAGE);
}

/* Each piece of a mapping counts, as on Linux, and stays one. */
static void test_pieces(void)
{
    char *area, *moved;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        begin(8 * PAGE);
        area = shmat(id, NULL, 0);
        CHECK(area != FAILED && attached() == 1, "%s", strerror(errno));
        area[5 * PAGE] = 3;
        CHECK(mprotect(area + 2 * PAGE, PAGE, PROT_READ) == 0 && attached() == 3, "%ld", attached());
        CHECK(mprotect(area + 2 * PAGE, PAGE, READ_WRITE) == 0 && attached() == 3, "%ld", attached());
        CHECK(munmap(area + 4 * PAGE, PAGE) == 0 && attached() == 4, "%ld", attached());
        CHECK(munmap(area, PAGE) == 0 && attached() == 4, "%ld", attached());
        CHECK(munmap(area + PAGE, PAGE) == 0 && attached() == 3, "%ld", attached());
        moved = mremap(area + 5 * PAGE, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, area + 16 * PAGE);
        CHECK(moved == area + 16 * PAGE && moved[0] == 3 && attached() == 3, "%ld", attached());
        CHECK(shmdt(area) == 0 && attached() == 1, "%ld", attached());
        CHECK(moved[0] == 3 && !memory_readable(area + 2 * PAGE) && !memory_readable(area + 3 * PAGE), "pieces");
        CHECK(shmdt(moved - 5 * PAGE) == 0 && attached() == 0, "%ld", attached());
        removes();
    }
}

static int write_there(void *area)
{
    *(volatile char *)area = 1;
    return 0;
}

static void test_read_only(void)
{
    char *area;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        begin(PAGE);
        area = shmat(id, NULL, SHM_RDONLY);
        CHECK(area != FAILED && area[0] == 0, "%s", strerror(errno));
        CHECK(tap_fork(write_there, area) == 1000 + SIGSEGV, "it was written");
        CHECK_ERROR(mprotect(area, PAGE, READ_WRITE), EACCES);
        CHECK(shmdt(area) == 0, "%s", strerror(errno));
        area = shmat(id, NULL, SHM_EXEC);
        CHECK(area != FAILED, "root may: %s", strerror(errno));
        area[0] = (char)0xc3; /* ret */
        ((void (*)(void))(uintptr_t)area)();
        CHECK(shmdt(area) == 0, "%s", strerror(errno));
        removes();
    }
}

/* Removed, it is there for those who know its id until the last one has let go. */
static void test_remove(void)
{
    char *one, *two;

    for (int k = 0; k < kernels_count(); k++) {
        struct shmid_ds facts;

        kernels_go(k);
        id = shmget(KEY, PAGE, IPC_CREAT | IPC_EXCL | 0600);
        one = shmat(id, NULL, 0);
        CHECK(one != FAILED, "%s", strerror(errno));
        one[0] = 9;
        removes();
        CHECK_ERROR(shmget(KEY, PAGE, 0), ENOENT);
        facts = facts_of();
        CHECK(facts.shm_nattch == 1 && (facts.shm_perm.mode & SHM_DEST) != 0 && facts.shm_perm.__key == 0,
              "%ld, mode %o", (long)facts.shm_nattch, facts.shm_perm.mode);
        two = shmat(id, NULL, 0);
        CHECK(two != FAILED && two[0] == 9 && attached() == 2, "%s", strerror(errno));
        removes();
        CHECK(shmdt(one) == 0 && attached() == 1 && two[0] == 9, "%s", strerror(errno));
        kernels_go(k + 1);
        CHECK(shmdt(two) == 0 && attached() == -EINVAL, "it is still there: %ld", attached());
        CHECK(shmat(id, NULL, 0) == FAILED && errno == EINVAL, "%s", strerror(errno));
    }
}

static int do_exit(void *area)
{
    (void)area;
    return attached() == 2 ? 0 : 1;
}

static void test_fork(void)
{
    char *area;
    int status;
    pid_t child;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        begin(2 * PAGE);
        area = shmat(id, NULL, 0);
        CHECK(tap_fork(do_exit, NULL) == 0 && attached() == 1, "after a child's end: %ld", attached());
        child = fork();
        if (child == 0) {
            kernels_go(k + 1);
            _exit(shmdt(area) == 0 && attached() == 1 && shmat(id, NULL, 0) != FAILED && attached() == 2 ? 0 : 1);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
        CHECK(attached() == 1 && facts_of().shm_lpid == child, "%ld, last of %d", attached(), facts_of().shm_lpid);
        child = fork();
        if (child == 0) {
            kernels_go(k + 1);
            area[0] = 1;
            for (;;)
                pause();
        }
        while (((volatile char *)area)[0] == 0)
            sched_yield();
        CHECK(attached() == 2, "%ld", attached());
        CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child && attached() == 1, "killed: %ld",
              attached());
        area[0] = 0;
        CHECK(shmdt(area) == 0, "%s", strerror(errno));
        removes();
    }
}

/* exec detaches: the program that begins says how many are attached then. */
static void test_exec(void)
{
    char number[16], *area;
    int status;
    pid_t child;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        begin(PAGE);
        area = shmat(id, NULL, 0);
        snprintf(number, sizeof(number), "%d", id);
        child = fork();
        if (child == 0) {
            kernels_go(k + 1);
            execl("/proc/self/exe", "test-shm", "count", number, NULL);
            _exit(99);
        }
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1, "status %x",
              status);
        CHECK(shmdt(area) == 0 && attached() == 0, "%s", strerror(errno));
        removes();
    }
}

static int as_other(void *context)
{
    struct shmid_ds facts = {.shm_segsz = 0};

    kernels_go((int)(long)context);
    if (setgroups(0, NULL) != 0 || setgid(1000) != 0 || setuid(1000) != 0)
        return 2;
    if (shmat(id, NULL, 0) != FAILED || errno != EACCES || shmctl(id, IPC_STAT, &facts) != -1 || errno != EACCES)
        return 3;
    if (shmctl(id, IPC_RMID, NULL) != -1 || errno != EPERM || shmctl(id, IPC_SET, &facts) != -1 || errno != EPERM)
        return 4;
    if (shmctl(id, SHM_LOCK, NULL) != -1 || errno != EPERM || shmget(KEY, 0, 0600) != -1 || errno != EACCES)
        return 5;
    return shmctl(id % 32768, SHM_STAT_ANY, &facts) == id && facts.shm_segsz == PAGE ? 0 : 6;
}

static int as_reader(void *context)
{
    kernels_go((int)(long)context);
    if (setgroups(0, NULL) != 0 || setgid(1000) != 0 || setuid(1000) != 0)
        return 2;
    if (shmat(id, NULL, 0) != FAILED || errno != EACCES || shmat(id, NULL, SHM_RDONLY | SHM_EXEC) != FAILED)
        return 3;
    return shmat(id, NULL, SHM_RDONLY) != FAILED && shmget(KEY, 0, 0400) == id ? 0 : 4;
}

static void test_permission(void)
{
    struct shmid_ds facts;

    if (geteuid() != 0) {
        tap_skip("only root can become others");
        return;
    }
    id = shmget(KEY, PAGE, IPC_CREAT | IPC_EXCL | 0600);
    for (long k = 0; k < kernels_count(); k++)
        CHECK(tap_fork(as_other, (void *)k) == 0, "kernel %ld: %d", k, tap_fork(as_other, (void *)k));
    facts = facts_of();
    facts.shm_perm.mode = 0604;
    CHECK(shmctl(id, IPC_SET, &facts) == 0, "%s", strerror(errno));
    for (long k = 0; k < kernels_count(); k++)
        CHECK(tap_fork(as_reader, (void *)k) == 0, "kernel %ld: %d", k, tap_fork(as_reader, (void *)k));
    CHECK(attached() == 0, "%ld", attached());
    removes();
}

static void test_totals(void)
{
    struct shm_info before, now;
    struct shminfo limits;
    struct shmid_ds facts;
    int top;
    char *area;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&before) >= 0, "%s", strerror(errno));
        begin(3 * PAGE + 1);
        top = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&now);
        CHECK(top >= id % 32768 && now.used_ids == before.used_ids + 1 && now.shm_tot == before.shm_tot + 4,
              "%d used, %ld pages", now.used_ids, now.shm_tot);
        CHECK(shmctl(id % 32768, SHM_STAT, &facts) == id && facts.shm_segsz == 3 * PAGE + 1, "%s", strerror(errno));
        CHECK(shmctl(0, IPC_INFO, (struct shmid_ds *)(void *)&limits) == top && limits.shmmin == 1 &&
                  limits.shmmni == 4096 && limits.shmmax > 1ul << 40,
              "%lu", limits.shmmni);
        area = shmat(id, NULL, 0);
        area[0] = area[PAGE] = 1;
        CHECK(shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&now) >= 0 && now.shm_rss == before.shm_rss + 2, "%ld",
              now.shm_rss);
        removes();
        CHECK(shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&now) >= 0 && now.used_ids == before.used_ids + 1, "%d",
              now.used_ids);
        CHECK(shmdt(area) == 0, "%s", strerror(errno));
        CHECK(shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&now) >= 0 && now.used_ids == before.used_ids &&
                  now.shm_tot == before.shm_tot && now.shm_rss == before.shm_rss,
              "%d used, %ld pages, %ld of them there", now.used_ids, now.shm_tot, now.shm_rss);
    }
}

/* Processes on all kernels attach, count together, and detach; the sums and the number attached come out. */
#define ROUNDS 30
struct shared {
    atomic_long sum;
    atomic_int ready;
};

static int attach_and_count(int k, int all)
{
    for (int r = 0; r < ROUNDS; r++) {
        struct shared *one, *two;

        kernels_go(k + r);
        one = shmat(id, NULL, 0);
        two = shmat(id, NULL, 0);
        if (one == FAILED || two == FAILED)
            return 1;
        atomic_fetch_add(&one->sum, 1);
        atomic_fetch_add(&two->sum, 1);
        if (attached() < 3 || attached() > 1 + 3 * all) /* one of the two may be in two pieces */
            return 2;
        if (shmdt(one) != 0 || (r % 2 == 0 && mprotect(two, PAGE, PROT_READ) != 0) || shmdt(two) != 0)
            return 3;
    }
    return shmat(id, NULL, 0) != FAILED ? 0 : 4; /* its end detaches that one */
}

static void test_together(void)
{
    int count = kernels_count() < 2 ? 2 : kernels_count(), status;
    struct shared *shared;
    pid_t children[KERNELS_MAX];

    begin(2 * PAGE);
    shared = shmat(id, NULL, 0);
    CHECK(shared != FAILED, "%s", strerror(errno));
    for (int i = 0; i < count; i++) {
        kernels_go(i);
        children[i] = fork();
        if (children[i] == 0) {
            _exit(shmdt(shared) == 0 ? attach_and_count(i, count) : 5);
        }
    }
    for (int i = 0; i < count; i++)
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0, "status %x", status);
    CHECK(atomic_load(&shared->sum) == 2l * ROUNDS * count, "%ld", atomic_load(&shared->sum));
    CHECK(attached() == 1, "%ld", attached());
    removes();
    CHECK(shmdt(shared) == 0 && attached() == -EINVAL, "%ld", attached());
}

/* Homes that always have an area attach others again and again: no more are counted than there can be at once. Linux
 * counts a shmat under way twice. */
static void test_no_more(void)
{
    int count = kernels_count() < 2 ? 2 : kernels_count(), status;
    struct shared *shared;
    pid_t children[KERNELS_MAX];
    long most = 0;

    begin(2 * PAGE);
    shared = shmat(id, NULL, 0);
    CHECK(shared != FAILED, "%s", strerror(errno));
    for (int i = 0; i < count; i++) {
        kernels_go(i);
        children[i] = fork();
        if (children[i] == 0) {
            for (int r = 0; r < 10 * ROUNDS; r++) {
                void *more = shmat(id, NULL, 0);

                if (more == FAILED || shmdt(more) != 0)
                    _exit(1);
            }
            atomic_fetch_add(&shared->ready, 1);
            for (;;)
                pause();
        }
    }
    kernels_go(0);
    while (atomic_load(&shared->ready) < count) {
        long now = attached();

        if (!CHECK(now > count, "%ld", now))
            break;
        most = now > most ? now : most;
        if (waitpid(-1, &status, WNOHANG) > 0) {
            CHECK(false, "status %x", status);
            break;
        }
    }
    CHECK(most <= 1 + 3 * count && attached() == 1 + count, "%ld at most, %ld at last", most, attached());
    for (int i = 0; i < count; i++)
        CHECK(kill(children[i], SIGKILL) == 0 && waitpid(children[i], NULL, 0) == children[i], "%s", strerror(errno));
    removes();
    CHECK(shmdt(shared) == 0 && attached() == -EINVAL, "%ld", attached());
}

/* All let go at once: the last one takes the segment along, whoever it is. They sleep until a pipe ends, as CPUs that
 * spin take the time that those who work need. */
static void test_last(void)
{
    int count = kernels_count() < 2 ? 2 : kernels_count(), status, ends[2];
    struct shm_info before, now;
    struct shared *shared;
    pid_t children[KERNELS_MAX];

    CHECK(shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&before) >= 0, "%s", strerror(errno));
    for (int r = 0; r < 5; r++) {
        begin(2 * PAGE);
        shared = shmat(id, NULL, 0);
        CHECK(shared != FAILED && pipe(ends) == 0, "%s", strerror(errno));
        for (int i = 0; i < count; i++) {
            kernels_go(i);
            children[i] = fork();
            if (children[i] == 0) {
                char none;

                kernels_go(i + r);
                close(ends[1]);
                atomic_fetch_add(&shared->ready, 1);
                if (read(ends[0], &none, 1) != 0)
                    _exit(2);
                if (i % 2 == 0)
                    _exit(shmdt(shared) == 0 ? 0 : 1);
                kill(getpid(), SIGKILL);
                for (;;) /* away from home the call may return before the process ends */
                    pause();
            }
        }
        while (atomic_load(&shared->ready) < count)
            sched_yield();
        removes();
        CHECK(attached() == count + 1, "%ld", attached());
        close(ends[1]);
        CHECK(shmdt(shared) == 0, "%s", strerror(errno));
        for (int i = 0; i < count; i++)
            CHECK(waitpid(children[i], &status, 0) == children[i] && status == (i % 2 == 0 ? 0 : SIGKILL), "status %x",
                  status);
        CHECK(attached() == -EINVAL, "%ld", attached());
        close(ends[0]);
    }
    CHECK(shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&now) >= 0 && now.used_ids == before.used_ids &&
              now.shm_rss == before.shm_rss,
          "%d used, %ld pages", now.used_ids, now.shm_rss);
}

/* A kernel that is stopped hands over who is attached there, and since when. */
static void test_stop(void)
{
    struct shmid_ds before, now;
    struct shared *shared;
    int kernels[64], status, count, last;
    pid_t child;

    if (tap_skip_alone())
        return;
    count = tap_kernels(kernels);
    last = kernels[count - 1];
    begin(2 * PAGE);
    kernels_go(0);
    shared = shmat(id, NULL, 0);
    CHECK(shared != FAILED && kettle_migrate(last) == 0, "%s", strerror(errno));
    child = fork(); /* at home there */
    if (child == 0) {
        if (mprotect(shared, PAGE, PROT_READ) != 0)
            _exit(1);
        atomic_store(&((struct shared *)(void *)((char *)shared + PAGE))->ready, 1);
        for (;;)
            pause();
    }
    CHECK(kettle_migrate(0) == 0, "%s", strerror(errno));
    while (atomic_load(&((struct shared *)(void *)((char *)shared + PAGE))->ready) == 0)
        sched_yield();
    before = facts_of();
    CHECK(before.shm_nattch == 3, "%ld", (long)before.shm_nattch);
    if (CHECK(kettle_stop(last) == 0, "%s", strerror(errno))) {
        now = facts_of();
        CHECK(now.shm_nattch == 3 && now.shm_atime == before.shm_atime && now.shm_dtime == before.shm_dtime &&
                  now.shm_lpid == before.shm_lpid,
              "%ld, last of %d", (long)now.shm_nattch, now.shm_lpid);
        CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child && attached() == 1, "%ld", attached());
        CHECK(kettle_start(last) == 0, "%s", strerror(errno));
    }
    removes();
    CHECK(shmdt(shared) == 0 && attached() == -EINVAL, "%ld", attached());
}

static void read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t got = 0;

    if (CHECK(file != NULL, "%s: %s", path, strerror(errno))) {
        got = fread(text, 1, size - 1, file);
        fclose(file);
    }
    text[got] = '\0';
}

static void test_proc(void)
{
    static char text[65536];
    unsigned key, mode;
    int found, size, creator;
    long attaches;
    char *area, *line;

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        id = shmget(KEY, PAGE + 1, IPC_CREAT | IPC_EXCL | 0640);
        area = shmat(id, NULL, 0);
        read_text("/proc/sysvipc/shm", text, sizeof(text));
        CHECK(strncmp(text, "       key      shmid perms ", 28) == 0, "the first line: %.60s", text);
        found = -1;
        attaches = size = creator = 0;
        mode = 0;
        for (line = strchr(text, '\n'); line != NULL && line[1] != '\0'; line = strchr(line + 1, '\n')) {
            if (sscanf(line + 1, "%u %d %o %d %d %*d %ld", &key, &found, &mode, &size, &creator, &attaches) == 6 &&
                found == id)
                break;
        }
        CHECK(found == id && key == KEY && mode == 0640 && size == PAGE + 1 && creator == getpid() && attaches == 1,
              "%s", text);
        read_text("/proc/self/maps", text, sizeof(text));
        CHECK(strstr(text, "/SYSV00004b5f (deleted)") != NULL, "%s", text);
        read_text("/proc/sys/kernel/shmmni", text, sizeof(text));
        CHECK(strcmp(text, "4096\n") == 0, "%s", text);
        read_text("/proc/sys/kernel/shmmax", text, sizeof(text));
        CHECK(strcmp(text, "18446744073692774399\n") == 0, "%s", text);
        read_text("/proc/sys/kernel/shmall", text, sizeof(text));
        CHECK(strcmp(text, "18446744073692774399\n") == 0, "%s", text);
        CHECK(shmdt(area) == 0, "%s", strerror(errno));
        removes();
    }
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"get", "a segment is found by its key, from every kernel", test_get},
        {"facts", "shmctl reports the size of a segment, its processes and its times", test_facts},
        {"bytes", "all kernels see the same bytes wherever they are attached", test_bytes},
        {"places", "a segment is attached at the address that is asked for", test_places},
        {"pieces", "each part of a split mapping counts, and shmdt detaches all of them", test_pieces},
        {"read-only", "a segment attached with SHM_RDONLY cannot be written", test_read_only},
        {"remove", "a removed segment goes when the last process detaches it", test_remove},
        {"fork", "a child has its parent's segments until it ends or is killed", test_fork},
        {"exec", "exec detaches all segments", test_exec},
        {"permission", "other users have the access of the segment's mode", test_permission},
        {"totals", "SHM_INFO counts what there is", test_totals},
        {"together", "processes on all kernels attach and detach at once", test_together},
        {"no-more", "the number of attachments is never more than there can be", test_no_more},
        {"last", "a removed segment goes though its last users detach at once", test_last},
        {"stop", "a kernel that stops hands over the segments of its processes", test_stop},
        {"proc", "/proc/sysvipc/shm lists the segments", test_proc},
    };

    if (argc > 2 && strcmp(argv[1], "count") == 0) {
        id = atoi(argv[2]);
        return (int)attached();
    }
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
