/* test-vfork: processes that use the memory of another one (vfork), which is killed, or runs another program,
 * meanwhile. Nothing but that memory waits for them: they may sleep, or work, for as long as they like. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGE 4096
#define PAGES 48
#define PARENTS 12 /* more than kernels without memory for workers have */
#define OTHERS 8
#define STACK (12 * PAGE) /* of a thread, but for what it has used before */
#define KERNEL(number) (kernels[(number) % kernel_count])

/* What all processes of a test share. */
static struct board {
    atomic_int guest, thread, other, member_touched, go, fault, made, status, cpu;
    atomic_long beats, wrong;
} * board;

static int kernels[64], kernel_count, cpu_count;
static int ends[2] = {-1, -1};
static volatile char *pages; /* of the parent, and its guest */

static void go(int kernel)
{
    if (tap_on_kettle())
        MUST(kettle_migrate(kernel));
}

static void touch(int turn)
{
    for (int i = turn; i < PAGES; i += 3)
        pages[i * PAGE] = (char)(i + 1);
}

/* --- what the guest does --- */

static _Noreturn void guest_works(void)
{
    for (int i = 0;; i = (i + 1) % PAGES) {
        if (pages[i * PAGE] != (char)(i + 1))
            atomic_fetch_add(&board->wrong, 1);
        pages[i * PAGE + 1]++;
        atomic_fetch_add(&board->beats, 1);
        if (i == 0)
            sched_yield();
    }
}

static _Noreturn void guest_sleeps(void)
{
    if (ends[1] >= 0)
        close(ends[1]);
    for (;;)
        pause();
}

/* Its own child uses the same memory. */
static _Noreturn void guest_is_host(void)
{
    pid_t child;
    int status = -1;

    while (board->go == 0)
        sched_yield();
    child = vfork();
    if (child == 0) {
        pages[PAGE] = 77;
        _exit(3);
    }
    board->made = child > 0 && waitpid(child, &status, 0) == child && pages[PAGE] == 77 ? 1 : errno;
    board->status = status;
    for (;;)
        pause();
}

/* Writes what the kernel has to read from the mapped file, until it cannot. */
static _Noreturn void guest_writes(void)
{
    char byte;

    while (write(ends[1], (const char *)(uintptr_t)pages, 1) == 1 && read(ends[0], &byte, 1) == 1)
        atomic_fetch_add(&board->beats, 1);
    board->fault = errno;
    for (;;)
        pause();
}

static int guest_place;
static void (*guest_function)(void);

/* vfork may be called by name only in a function that changes no variable of its own afterwards. */
static void *thread_in_vfork(void *unused)
{
    (void)unused;
    go(guest_place);
    touch(1);
    board->thread = (int)syscall(SYS_gettid);
    if (vfork() == 0) {
        board->guest = (int)syscall(SYS_getpid);
        guest_function();
    }
    board->cpu = sched_getcpu() + 1;
    for (;;)
        pause();
    return NULL;
}

/* A thread of this process gets a guest on THERE. */
static void begin_guest(int there, void (*guest)(void))
{
    pthread_t thread;

    guest_place = there;
    guest_function = guest;
    MUST(-pthread_create(&thread, NULL, thread_in_vfork, NULL));
}

/* --- parents --- */

static void *touch_at(void *kernel)
{
    go((int)(intptr_t)kernel);
    touch(2);
    board->member_touched = 1;
    for (;;)
        pause();
    return NULL;
}

static void begin(void)
{
    board->guest = board->thread = board->other = board->member_touched = board->go = board->fault = board->made =
        board->status = board->cpu = 0;
    board->beats = board->wrong = 0;
    pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED, "%s", tap_error(errno));
}

static void end(void)
{
    go(KERNEL(0));
    MUST(munmap((void *)(uintptr_t)pages, PAGES * PAGE));
}

/* A process at home on HOME with a guest on THERE, and memory on MEMBER, too, unless that is -1. */
static pid_t make_parent(int home, int there, int member, void (*guest)(void))
{
    pthread_t thread;
    pid_t parent;

    go(home);
    board->guest = 0;
    parent = FORK();
    if (parent == 0) {
        go(home); /* a new process is placed elsewhere, perhaps */
        touch(0);
        if (member >= 0) {
            MUST(-pthread_create(&thread, NULL, touch_at, (void *)(intptr_t)member));
            UNTIL(board->member_touched != 0, "a thread on the third kernel");
        } else {
            touch(2);
        }
        begin_guest(there, guest);
        for (;;)
            pause();
    }
    UNTIL(board->guest != 0, "a child by vfork");
    go(KERNEL(0));
    return parent;
}

static bool is_gone(pid_t process, int thread)
{
    return syscall(SYS_tgkill, process, thread, 0) != 0 && errno == ESRCH;
}

static void audit(void)
{
    char report[1000];
    int violations = kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report));

    CHECK(violations == 0, "audit: %s", violations < 0 ? tap_error(errno) : report);
}

static void stop_and_start(int kernel)
{
    CHECK(kettle_stop(kernel) == 0, "stop of kernel %d: %s", kernel, tap_error(errno));
    CHECK(kettle_start(kernel) == 0, "start of kernel %d: %s", kernel, tap_error(errno));
}

/* The guest goes on with what its parent had. */
static void look_at_guest(pid_t guest)
{
    long before = board->beats;

    CHECK(kill(guest, 0) == 0, "the guest has ended");
    UNTIL(board->beats > before + 2 * PAGES, "the guest to work");
    CHECK(board->wrong == 0, "%ld pages of the guest are wrong", board->wrong);
}

/* --- tests --- */

static void test_ends(void)
{
    pid_t parents[PARENTS], guests[PARENTS];

    begin();
    for (int i = 0; i < PARENTS; i++) {
        parents[i] = make_parent(KERNEL(0), KERNEL(i % 2), -1, guest_sleeps);
        guests[i] = board->guest;
    }
    if (tap_on_kettle())
        MUST(kettle_control("workers=few"));
    for (int i = 0; i < PARENTS; i++)
        MUST(kill(parents[i], SIGKILL));
    for (int i = 0; i < OTHERS; i++) {
        pid_t other = FORK();

        if (other == 0)
            _exit(9);
        CHECK_EXITS(other, 9);
    }
    if (tap_on_kettle()) {
        audit();
        if (kernel_count > 2)
            stop_and_start(KERNEL(2));
    }
    for (int i = 0; i < PARENTS; i++) {
        CHECK(kill(guests[i], 0) == 0, "guest %d has ended", i);
        MUST(kill(guests[i], SIGKILL));
        CHECK_DIES(parents[i], SIGKILL);
    }
    if (tap_on_kettle()) {
        MUST(kettle_control("workers=more"));
        audit();
    }
    end();
}

static void *thread_in_exec(void *unused)
{
    (void)unused;
    board->other = (int)syscall(SYS_gettid);
    while (board->go == 0)
        sched_yield();
    tap_exec("over", NULL, NULL);
    return NULL;
}

/* A process with a guest on THERE, whose memory exec of another thread waits for. */
static pid_t exec_beside_guest(int there)
{
    pthread_t thread;
    pid_t parent;

    parent = FORK();
    if (parent == 0) {
        touch(0);
        touch(2);
        begin_guest(there, guest_works);
        MUST(-pthread_create(&thread, NULL, thread_in_exec, NULL));
        for (;;)
            pause();
    }
    UNTIL(board->guest != 0 && board->other != 0, "a child by vfork, and a thread for exec");
    board->go = 1;
    UNTIL(is_gone(parent, board->thread), "exec to end other threads");
    return parent;
}

static void test_exec(void)
{
    for (int turn = 0; turn < 2; turn++) {
        pid_t parent;

        begin();
        parent = exec_beside_guest(KERNEL(turn));
        if (tap_on_kettle())
            audit();
        look_at_guest(board->guest);
        MUST(kill(board->guest, SIGKILL));
        CHECK_EXITS(parent, 5);
        end();
    }
}

static void test_killed_exec(void)
{
    if (!tap_on_kettle()) {
        tap_skip("exec does not wait for the child there");
        return;
    }
    for (int turn = 0; turn < 2; turn++) {
        pid_t parent;

        begin();
        parent = exec_beside_guest(KERNEL(turn));
        look_at_guest(board->guest);
        CHECK(!is_gone(parent, board->other), "exec is over");
        MUST(kill(parent, SIGKILL));
        UNTIL(is_gone(parent, board->other), "the thread in exec to die");
        audit();
        look_at_guest(board->guest);
        MUST(kill(board->guest, SIGKILL));
        CHECK_DIES(parent, SIGKILL);
        audit();
        end();
    }
}

static void test_stops(void)
{
    static const int places[][4] = {/* home, guest, member, then the kernel that stops */
                                    {1, 2, 3, 3},
                                    {1, 2, 3, 1},
                                    {3, 2, 1, 3},
                                    {0, 1, 2, 2}};

    if (!tap_on_kettle() || kernel_count < 4) {
        tap_skip("needs four kernels");
        return;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        pid_t parent;

        begin();
        parent = make_parent(KERNEL(places[i][0]), KERNEL(places[i][1]), KERNEL(places[i][2]), guest_works);
        MUST(kill(parent, SIGKILL));
        UNTIL(is_gone(parent, board->thread), "the parent's threads to die");
        stop_and_start(KERNEL(places[i][3]));
        look_at_guest(board->guest);
        audit();
        MUST(kill(board->guest, SIGKILL));
        CHECK_DIES(parent, SIGKILL);
        audit();
        end();
    }
}

static void test_again(void)
{
    for (int turn = 0; turn < 2; turn++) {
        pid_t parent;

        begin();
        parent = make_parent(KERNEL(0), KERNEL(turn), -1, guest_is_host);
        MUST(kill(parent, SIGKILL));
        UNTIL(is_gone(parent, board->thread), "the parent's threads to die");
        board->go = 1;
        UNTIL(board->made != 0, "a child of the guest");
        CHECK(board->made == 1, "the guest's vfork: %s", tap_error(board->made));
        CHECK(WIFEXITED(board->status) && WEXITSTATUS(board->status) == 3, "%x", (unsigned)board->status);
        MUST(kill(board->guest, SIGKILL));
        CHECK_DIES(parent, SIGKILL);
        end();
    }
}

static void test_descriptors(void)
{
    for (int turn = 0; turn < 2; turn++) {
        char byte;
        pid_t parent;

        begin();
        MUST(pipe(ends));
        parent = make_parent(KERNEL(0), KERNEL(turn), -1, guest_sleeps);
        MUST(close(ends[1]));
        UNTIL(tap_sleeps(board->guest, board->guest), "the guest to sleep");
        MUST(kill(parent, SIGKILL));
        CHECK(read(ends[0], &byte, 1) == 0, "the pipe has not ended");
        MUST(close(ends[0]));
        ends[0] = ends[1] = -1;
        MUST(kill(board->guest, SIGKILL));
        CHECK_DIES(parent, SIGKILL);
        end();
    }
}

/* While one thread waits in vfork, another one takes a stop, which waits for the first, at home or elsewhere. */
static void test_stopped(void)
{
    for (int turn = 0; turn < 2; turn++) {
        pid_t parent;
        long at;

        begin();
        parent = make_parent(KERNEL(0), KERNEL(turn), -1, guest_works);
        MUST(kill(parent, SIGSTOP));
        UNTIL(tap_stands(parent, parent), "the thread at home to stop");
        look_at_guest(board->guest);
        if (tap_on_kettle())
            audit();
        if (tap_on_kettle() && kernel_count > 2)
            stop_and_start(KERNEL(2));
        MUST(kill(parent, SIGCONT));
        at = board->beats;
        UNTIL(board->beats > at, "the guest to work");
        MUST(kill(parent, SIGSTOP));
        MUST(kill(parent, SIGKILL));
        if (tap_on_kettle())
            audit();
        look_at_guest(board->guest);
        MUST(kill(board->guest, SIGKILL));
        CHECK_DIES(parent, SIGKILL);
        end();
    }
}

static void test_cut(void)
{
    for (int turn = 0; turn < 2; turn++) {
        int file = (int)MUST(open("/tmp/vfork-cut", O_RDWR | O_CREAT | O_TRUNC, 0600));
        pid_t parent;

        begin();
        MUST(ftruncate(file, PAGES * PAGE));
        MUST(munmap((void *)(uintptr_t)pages, PAGES * PAGE));
        pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        REQUIRE(pages != MAP_FAILED, "%s", tap_error(errno));
        MUST(pipe(ends));
        parent = make_parent(KERNEL(0), KERNEL(turn), -1, guest_writes);
        MUST(kill(parent, SIGKILL));
        UNTIL(is_gone(parent, board->thread), "the parent's threads to die");
        UNTIL(board->beats > 0, "the guest to write");
        MUST(ftruncate(file, 0));
        UNTIL(board->fault != 0, "the guest to see that the file is shorter");
        CHECK(board->fault == EFAULT, "%s", tap_error(board->fault));
        for (int i = 0; i < 2; i++)
            MUST(close(ends[i]));
        ends[0] = ends[1] = -1;
        MUST(close(file));
        MUST(unlink("/tmp/vfork-cut"));
        MUST(kill(board->guest, SIGKILL));
        CHECK_DIES(parent, SIGKILL);
        end();
    }
}

static struct thread mapper;
static volatile char *leased;

/* The calling thread, and those that it starts from now on, stay on the first CPU, or may use all. */
static void bind(bool first)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int cpu = 0; cpu < (first ? 1 : CPU_SETSIZE); cpu++)
        CPU_SET(cpu, &set);
    MUST(x86_syscall3(SYS_sched_setaffinity, 0, sizeof(set), (long)&set));
}

/* So that nothing of the stack is first touched elsewhere. */
static void touch_stack(struct thread *thread)
{
    volatile char bytes[STACK];

    (void)thread;
    for (size_t i = 0; i < sizeof(bytes); i += PAGE / 2)
        bytes[i] = 1;
    thread_exit(0);
}

/* Maps memory by a lease of its kernel, which gets no frame of the process. */
static void map_there(struct thread *thread)
{
    bind(false);
    MUST(thread_move(KERNEL(thread->index)));
    leased = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    board->other = atomic_load(&thread->tid);
    for (;;)
        x86_syscall0(SYS_pause);
}

/* Uses what another kernel has mapped, when its parent is no more. */
static _Noreturn void guest_takes(void)
{
    while (board->go == 0)
        sched_yield();
    for (int i = 0; i < PAGES; i++) {
        if (leased[i * PAGE] != 0)
            board->wrong++;
        leased[i * PAGE] = 1;
    }
    board->made = 1;
    for (;;)
        pause();
}

static pid_t map_elsewhere(void)
{
    pid_t parent = FORK();

    if (parent != 0)
        return parent;
    go(KERNEL(0));
    bind(true);
    leased = NULL;
    mapper.index = 1;
    REQUIRE(thread_start(&mapper, touch_stack) && thread_ended(&mapper), "no thread");
    REQUIRE(thread_again(&mapper, map_there), "no thread");
    UNTIL(board->other != 0, "memory that another kernel has mapped");
    begin_guest(KERNEL(0), guest_takes);
    for (;;)
        pause();
}

/* A kernel that has a lease of a process, and nothing else, when that is killed. */
static void test_leased(void)
{
    pid_t parent;

    begin();
    parent = map_elsewhere();
    UNTIL(board->guest != 0, "a child by vfork");
    MUST(kill(parent, SIGKILL));
    UNTIL(is_gone(parent, board->thread) && is_gone(parent, board->other), "the parent's threads to die");
    if (tap_on_kettle())
        audit(); /* no end is under way any more */
    board->go = 1;
    UNTIL(board->made != 0 || kill(board->guest, 0) != 0, "the guest to use the memory");
    CHECK(board->made != 0, "the guest has ended");
    CHECK(board->wrong == 0, "%ld pages are wrong", board->wrong);
    MUST(kill(board->guest, SIGKILL));
    CHECK_DIES(parent, SIGKILL);
    end();
}

/* Binds THREAD to each CPU, one after the other: last to the first or, if TURN is 0, to the last. */
static void bind_to_each(int thread, int turn)
{
    for (int i = 0; i < cpu_count; i++) {
        cpu_set_t set;

        CPU_ZERO(&set);
        CPU_SET(turn == 0 ? i : cpu_count - 1 - i, &set);
        if (syscall(SYS_sched_setaffinity, thread, sizeof(set), &set) != 0)
            board->wrong++;
    }
    board->made = 1;
}

static _Noreturn void guest_binds(void)
{
    bind_to_each(board->thread, board->go);
    for (;;)
        pause();
}

/* Who waits for a child by vfork moves afterwards, and whoever orders it, the child for one, does not wait for that. */
static void test_affinity(void)
{
    for (int turn = 0; turn < 8; turn++) {
        pid_t parent, other;

        begin();
        board->go = turn % 2;
        parent = make_parent(KERNEL(0), KERNEL(turn % 2), -1, guest_binds);
        UNTIL(board->made != 0, "the guest to bind its parent");
        CHECK(board->wrong == 0, "%ld times refused", board->wrong);
        CHECK(board->cpu == 0, "the parent is in its program");
        MUST(kill(board->guest, SIGKILL));
        UNTIL(board->cpu == (turn % 2 == 0 ? cpu_count : 1), "the parent to move");
        MUST(kill(parent, SIGKILL));
        CHECK_DIES(parent, SIGKILL);
        end();
        if (!tap_on_kettle() || turn >= 2)
            continue; /* exec does not wait for the child there */
        begin();
        parent = exec_beside_guest(KERNEL(turn));
        other = FORK();
        if (other == 0) {
            bind_to_each(board->other, turn);
            _exit(0);
        }
        UNTIL(board->made != 0, "a process to bind the thread in exec");
        CHECK_EXITS(other, 0);
        CHECK(!is_gone(parent, board->other), "exec is over");
        MUST(kill(board->guest, SIGKILL));
        CHECK_EXITS(parent, 5);
        end();
    }
}

static int over(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return 5;
}

static const struct tap_test tests[] = {
    {"ends", "parents that are killed in vfork hold up no other end, no audit and no stop", test_ends},
    {"exec", "exec beside a thread in vfork holds up no audit, and goes on when the child has ended", test_exec},
    {"killed-exec", "a kill ends the wait of exec for a child by vfork, whose memory stays", test_killed_exec},
    {"stops", "a kernel stops that is home or member of a parent killed in vfork", test_stops},
    {"again", "a child by vfork of a parent that was killed uses vfork itself", test_again},
    {"descriptors", "descriptors of a parent that is killed in vfork are closed at once", test_descriptors},
    {"stopped", "a stop that waits for a thread in vfork holds up no audit, and no stop of another kernel",
     test_stopped},
    {"leased", "a child by vfork uses what another kernel has mapped by a lease for its parent, which was killed",
     test_leased},
    {"affinity", "who binds a thread in vfork to other CPUs does not wait until it moves, which it does afterwards",
     test_affinity},
    {"cut", "a file is cut in memory that only a child by vfork uses", test_cut},
};

static const struct tap_child children[] = {{"over", over}};

int main(int argc, char **argv)
{
    static const struct tap_program program = {tests, TAP_COUNT(tests), false, children, TAP_COUNT(children), NULL, 0};

    kernel_count = tap_kernels(kernels);
    cpu_count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    board = tap_share(sizeof(*board));
    return tap_main(argc, argv, &program);
}
