/* test-libc: what the C library and the smallest set of system calls under it promise a program.
 *
 * Children of this program, started with a first argument:
 *     arguments   compares its arguments and environment, exits with 0 or 1
 *     exit N      exits with N
 *
 * Long because it is a list: every test is short and stands alone. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/libc.h"

#define PAGE 4096

static int main_argc;
static char **main_argv;

/* --- start of the program --- */

static void test_arguments(void)
{
    char **variable = environ;
    size_t count = 0;

    CHECK(main_argc >= 1, "argc is %d", main_argc);
    for (int i = 0; i < main_argc; i++)
        CHECK(main_argv[i] != NULL && strlen(main_argv[i]) < 4096, "argument %d", i);
    CHECK(main_argv[main_argc] == NULL, "the argument list has no end");
    while (count < 100000 && variable[count] != NULL)
        count++;
    CHECK(variable[count] == NULL, "the environment has no end");
    CHECK(variable == main_argv + main_argc + 1, "the environment does not follow the arguments");
}

extern const ElfW(Ehdr) __ehdr_start;
extern const char _start[];

static void test_auxv(void)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM);
    const char *path = (const char *)getauxval(AT_EXECFN);
    unsigned different = 0;
    int loads = 0;

    CHECK(getauxval(AT_PAGESZ) == PAGE, "%lu", getauxval(AT_PAGESZ));
    CHECK(getauxval(AT_PHENT) == sizeof(ElfW(Phdr)), "%lu", getauxval(AT_PHENT));
    CHECK(getauxval(AT_PHNUM) == __ehdr_start.e_phnum, "%lu", getauxval(AT_PHNUM));
    CHECK((uintptr_t)headers == (uintptr_t)&__ehdr_start + __ehdr_start.e_phoff, "%p", (const void *)headers);
    CHECK(getauxval(AT_ENTRY) == (uintptr_t)_start, "%#lx", getauxval(AT_ENTRY));
    CHECK(getauxval(AT_SECURE) == 0, "%lu", getauxval(AT_SECURE));
    for (unsigned long i = 0; headers != NULL && i < getauxval(AT_PHNUM); i++)
        loads += headers[i].p_type == PT_LOAD;
    CHECK(loads >= 2, "%d loaded segments", loads);
    if (CHECK(random != NULL, "no random bytes")) {
        for (int i = 1; i < 16; i++)
            different += random[i] != random[0];
        CHECK(different > 0, "all random bytes are %#x", random[0]);
    }
    CHECK(path != NULL && path[0] != '\0', "no path of the executable");
}

static int initialised = 12345;
static int zeroed[3 * PAGE / sizeof(int)];
static const char read_only[] = "constant";

static void test_image(void)
{
    for (size_t i = 0; i < sizeof(zeroed) / sizeof(zeroed[0]); i++)
        CHECK(zeroed[i] == 0, "word %zu of bss is %d", i, zeroed[i]);
    CHECK(initialised == 12345, "%d", initialised);
    CHECK(strcmp(read_only, "constant") == 0, "%s", read_only);
    CHECK(((uintptr_t)__builtin_frame_address(0) & 15) == 0, "frame at %p", __builtin_frame_address(0));
}

static int stack_use(int depth)
{
    volatile char bytes[2000];

    memset((char *)bytes, depth, sizeof(bytes));
    if (depth > 0 && stack_use(depth - 1) != depth - 1)
        return -1;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (bytes[i] != (char)depth)
            return -1;
    }
    return depth;
}

static void test_stack(void)
{
    CHECK(stack_use(120) == 120, "240 kB of stack do not keep what is written");
}

/* --- memory from malloc --- */

static bool bytes_are(const unsigned char *bytes, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != value)
            return false;
    }
    return true;
}

static void test_malloc(void)
{
    enum { BLOCKS = 400 };
    static unsigned char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    uint64_t state = 7;

    for (int round = 0; round < 3000; round++) {
        size_t i = tap_random(&state) % BLOCKS;

        if (blocks[i] != NULL) {
            CHECK(bytes_are(blocks[i], sizes[i], (unsigned char)i), "block %zu of %zu bytes changed", i, sizes[i]);
            free(blocks[i]);
            blocks[i] = NULL;
        }
        sizes[i] = tap_random(&state) % (tap_random(&state) % 16 == 0 ? 20000 : 300);
        blocks[i] = malloc(sizes[i]);
        if (!CHECK(blocks[i] != NULL, "%zu bytes: %s", sizes[i], strerror(errno)))
            break;
        CHECK(((uintptr_t)blocks[i] & 15) == 0, "block at %p", (void *)blocks[i]);
        memset(blocks[i], (int)i, sizes[i]);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        CHECK(blocks[i] == NULL || bytes_are(blocks[i], sizes[i], (unsigned char)i), "block %zu changed", i);
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

static void test_realloc(void)
{
    unsigned char *block = NULL;
    size_t size = 1;

    for (; size < 1000000; size = size * 3 / 2 + 1) {
        unsigned char *more = realloc(block, size);

        if (!CHECK(more != NULL, "%zu bytes: %s", size, strerror(errno)))
            break;
        if (block != NULL)
            CHECK(bytes_are(more, size * 2 / 3 - 1, 0x5a), "contents lost on the way to %zu bytes", size);
        block = more;
        memset(block, 0x5a, size);
    }
    block = realloc(block, 10);
    CHECK(block != NULL && bytes_are(block, 10, 0x5a), "contents lost on the way to 10 bytes");
    free(block);
}

static void test_malloc_large(void)
{
    static const size_t sizes[] = {128 * 1024, 200000, 1 << 20, 4 << 20};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *dirty = malloc(sizes[i]);
        unsigned char *clean;

        if (!CHECK(dirty != NULL, "%zu bytes: %s", sizes[i], strerror(errno)))
            return;
        memset(dirty, 0xff, sizes[i]);
        CHECK(bytes_are(dirty, sizes[i], 0xff), "%zu bytes do not keep what is written", sizes[i]);
        free(dirty);
        clean = calloc(1, sizes[i]);
        if (!CHECK(clean != NULL, "%zu bytes: %s", sizes[i], strerror(errno)))
            return;
        CHECK(bytes_are(clean, sizes[i], 0), "%zu bytes from calloc are not zero", sizes[i]);
        free(clean);
    }
}

static void test_malloc_sparse(void)
{
    const size_t size = (size_t)64 << 20;
    unsigned char *block = malloc(size);

    CHECK(block != NULL, "%zu bytes that are hardly touched: %s", size, strerror(errno));
    if (block == NULL)
        return;
    for (size_t at = 0; at < size; at += size / 16)
        block[at] = 1;
    block[size - 1] = 1;
    CHECK(block[size / 16] == 1 && block[size / 16 + 1] == 0, "what is written stays, what is not is zero");
    free(block);
}

static void test_malloc_impossible(void)
{
    volatile size_t size = (size_t)1 << 47;
    void *block;

    errno = 0;
    block = malloc(size);
    CHECK(block == NULL && errno == ENOMEM, "half the address space: %p, %s", block, strerror(errno));
    free(block);
    size = PTRDIFF_MAX;
    errno = 0;
    block = malloc(size);
    CHECK(block == NULL && errno == ENOMEM, "half of everything: %p, %s", block, strerror(errno));
    free(block);
}

/* --- the library itself --- */

static int compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a;
    int y = *(const int *)b;

    return (x > y) - (x < y);
}

static void test_sort(void)
{
    enum { COUNT = 5000 };
    static int numbers[COUNT];
    uint64_t state = 3;
    long long before = 0;
    long long after = 0;

    for (int i = 0; i < COUNT; i++) {
        numbers[i] = (int)tap_random(&state);
        before += numbers[i];
    }
    qsort(numbers, COUNT, sizeof(numbers[0]), compare_ints);
    for (int i = 0; i < COUNT; i++) {
        after += numbers[i];
        if (i > 0)
            CHECK(numbers[i - 1] <= numbers[i], "at %d", i);
    }
    CHECK(before == after, "numbers were lost");
    for (int i = 0; i < COUNT; i += 97)
        CHECK(bsearch(&numbers[i], numbers, COUNT, sizeof(numbers[0]), compare_ints) != NULL, "number %d", i);
}

static jmp_buf jump_target;
static volatile bool jump_armed = true;

static void jump_from(int depth)
{
    volatile char frame[300];

    frame[0] = (char)depth;
    if (depth > 0)
        jump_from(frame[0] - 1);
    else if (jump_armed)
        longjmp(jump_target, 42);
    frame[0] = 0;
}

static void test_jump(void)
{
    volatile int kept = 17;
    int value = setjmp(jump_target);

    if (value == 0) {
        kept = 18;
        jump_from(20);
        CHECK(false, "longjmp returned");
    }
    CHECK(value == 42 && kept == 18, "%d, %d", value, kept);
}

static _Thread_local int local_initialised = 99;
static _Thread_local int local_zeroed[20];
alignas(64) static _Thread_local char local_aligned[64] = "aligned";

static void test_thread_local(void)
{
    CHECK(local_initialised == 99, "%d", local_initialised);
    for (int i = 0; i < 20; i++)
        CHECK(local_zeroed[i] == 0, "word %d is %d", i, local_zeroed[i]);
    CHECK(strcmp(local_aligned, "aligned") == 0, "%s", local_aligned);
    CHECK(((uintptr_t)local_aligned & 63) == 0, "%p", (void *)local_aligned);
    local_initialised = 5;
    sched_yield();
    CHECK(local_initialised == 5, "%d after a system call", local_initialised);
}

static void test_float(void)
{
    volatile double two = 2;
    volatile long double third = 1.0L / 3;
    double sum = 0;

    CHECK(sqrt(two) == 0x1.6a09e667f3bcdp+0, "%a", sqrt(two));
    CHECK(fabsl(third * 3 - 1) < 1e-18L, "%Lg", third * 3 - 1);
    for (int i = 1; i <= 2000; i++) {
        sum += 1.0 / i;
        if (i % 200 == 0)
            sched_yield();
    }
    CHECK(sum == 0x1.05b5310674fb9p+3, "%a", sum);
    CHECK(fabs(sin(1) - 0.8414709848078965) < 1e-15, "%.17g", sin(1));
}

/* --- time --- */

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec time = {0};

    CHECK(clock_gettime(clock, &time) == 0, "clock %d: %s", (int)clock, strerror(errno));
    CHECK(time.tv_nsec >= 0 && time.tv_nsec < 1000000000, "%ld ns", time.tv_nsec);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void test_clock(void)
{
    int64_t first = nanoseconds(CLOCK_MONOTONIC);
    int64_t last = first;

    for (int i = 0; i < 2000; i++) {
        int64_t now = nanoseconds(CLOCK_MONOTONIC);

        CHECK(now >= last, "%" PRId64 " ns after %" PRId64, now, last);
        last = now;
    }
    CHECK(last > first, "time stands still");
    CHECK(nanoseconds(CLOCK_REALTIME) > 0, "real time");
}

static void test_clock_errors(void)
{
    struct timespec time;

    CHECK_ERROR(syscall(SYS_clock_gettime, 9999, &time), EINVAL);
    CHECK_ERROR(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, TAP_UNMAPPED), EFAULT);
    CHECK_ERROR(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, TAP_KERNEL_ADDRESS), EFAULT);
    CHECK_ERROR(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, TAP_NONCANONICAL), EFAULT);
    CHECK_ERROR(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, read_only), EFAULT);
}

static void test_nanosleep(void)
{
    static const long lengths[] = {0, 1, 1000000, 200000000};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct timespec time = {0, lengths[i]};
        int64_t begin = nanoseconds(CLOCK_MONOTONIC);
        int64_t end;

        CHECK(syscall(SYS_nanosleep, &time, NULL) == 0, "%ld ns: %s", lengths[i], strerror(errno));
        end = nanoseconds(CLOCK_MONOTONIC);
        CHECK(end - begin >= lengths[i], "slept %" PRId64 " ns of %ld", end - begin, lengths[i]);
        CHECK(end - begin < TAP_PATIENCE, "slept %" PRId64 " ns instead of %ld", end - begin, lengths[i]);
    }
}

static void test_nanosleep_errors(void)
{
    struct timespec negative = {-1, 0};
    struct timespec wide = {0, 1000000000};
    struct timespec below = {0, -1};

    CHECK_ERROR(syscall(SYS_nanosleep, &negative, NULL), EINVAL);
    CHECK_ERROR(syscall(SYS_nanosleep, &wide, NULL), EINVAL);
    CHECK_ERROR(syscall(SYS_nanosleep, &below, NULL), EINVAL);
    CHECK_ERROR(syscall(SYS_nanosleep, NULL, NULL), EFAULT);
    CHECK_ERROR(syscall(SYS_nanosleep, TAP_UNMAPPED, NULL), EFAULT);
}

/* --- process --- */

static void test_identity(void)
{
    pid_t process = getpid();

    CHECK(process > 0, "%d", process);
    CHECK(syscall(SYS_gettid) == process, "thread %ld of process %d", syscall(SYS_gettid), process);
    for (int i = 0; i < 100; i++)
        CHECK(getpid() == process && sched_yield() == 0, "%d", i);
}

static void test_getcpu(void)
{
    unsigned cpu = 12345;
    unsigned node = 12345;

    CHECK(syscall(SYS_getcpu, &cpu, &node, NULL) == 0, "%s", strerror(errno));
    CHECK(cpu < 4096 && node < 1024, "cpu %u node %u", cpu, node);
    CHECK(syscall(SYS_getcpu, NULL, NULL, NULL) == 0, "%s", strerror(errno));
    CHECK_ERROR(syscall(SYS_getcpu, TAP_UNMAPPED, NULL, NULL), EFAULT);
}

static void test_unknown_calls(void)
{
    static const long numbers[] = {-1, 400, 600, 5000, 0x4aff, 0x4bff, INT_MAX, LONG_MAX};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        long result = syscall(numbers[i], 0, 0, 0, 0, 0, 0);

        CHECK(result == -1 && errno == ENOSYS, "call %ld returns %ld: %s", numbers[i], result, strerror(errno));
    }
}

/* Its child's messages keep kernels 0 and 1 busy; the calling thread sleeps on KERNEL meanwhile. */
static void kill_exercise(int kernel)
{
    struct kettle_messages run = {
        .operation = KETTLE_MESSAGES_ROUND_TRIP, .size = 48, .kernels = UINT64_C(1) << 1, .count = INT32_MAX};
    const struct timespec moment = {.tv_nsec = 100000000};
    int status = 0;
    pid_t child;

    fflush(stdout);
    kettle_migrate(kernel);
    child = fork();
    if (child == 0) {
        kettle_migrate(0);
        _exit(kettle_messages(&run) == 0 ? 0 : 1);
    }
    nanosleep(&moment, NULL); /* the call runs by then, or is about to: it is killed in both */
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status), "from kernel %d: %x",
          kernel, status);
}

static void test_messages_killed(void)
{
    if (!tap_on_kettle() || kettle_kernels() < 2 || kettle_started(1) != 1) {
        tap_skip("there is no other kernel");
        return;
    }
    for (int kernel = 0; kernel < 2; kernel++)
        kill_exercise(kernel);
}

static void test_alone(void)
{
    if (tap_on_kettle()) {
        tap_skip("this is Kettle");
        return;
    }
    CHECK_ERROR(kettle_migrate(0), ENOSYS);
    CHECK(kettle_kernel() == 0 && kettle_kernels() == 1, "%d of %d", kettle_kernel(), kettle_kernels());
    CHECK(kettle_node(0) == 0 && kettle_started(0) == 1 && kettle_start(0) == 0, "kernel 0");
    CHECK_ERROR(kettle_node(1), EINVAL);
    CHECK_ERROR(kettle_started(-1), EINVAL);
    CHECK_ERROR(kettle_start(1), EINVAL);
}

static const struct tap_test tests[] = {
    {"arguments", "the arguments and the environment end and follow each other", test_arguments},
    {"auxv", "the auxiliary vector describes the executable", test_auxv},
    {"image", "the executable is loaded with its data and a zeroed bss", test_image},
    {"stack", "240 kB of stack can be used", test_stack},
    {"print-integers", "printf formats integers", libc_test_print_integers},
    {"print-text", "printf formats text and pointers", libc_test_print_text},
    {"print-floats", "printf formats floating-point numbers", libc_test_print_floats},
    {"scan", "sscanf and strtol read what printf writes", libc_test_scan},
    {"stdio", "standard output takes everything in order", libc_test_stdio},
    {"write", "write returns the length, also for nothing", libc_test_write},
    {"write-long", "write takes buffers that span pages", libc_test_write_long},
    {"write-errors", "write refuses bad descriptors and bad memory", libc_test_write_errors},
    {"writev", "writev gathers its parts", libc_test_writev},
    {"writev-errors", "writev refuses bad descriptors, vectors and parts", libc_test_writev_errors},
    {"malloc", "malloc and free keep blocks apart in 3000 steps", test_malloc},
    {"realloc", "realloc keeps the contents up and down", test_realloc},
    {"malloc-large", "large blocks keep their contents and calloc's are zero", test_malloc_large},
    {"malloc-sparse", "a block larger than memory can be had and touched here and there", test_malloc_sparse},
    {"malloc-impossible", "malloc answers ENOMEM to the impossible", test_malloc_impossible},
    {"sort", "qsort sorts and bsearch finds", test_sort},
    {"jump", "longjmp comes back through 20 frames", test_jump},
    {"thread-local", "thread-local variables have their values and alignment", test_thread_local},
    {"float", "floating-point results are exact and survive system calls", test_float},
    {"clock", "the monotonic clock goes forward and never back", test_clock},
    {"clock-errors", "clock_gettime refuses unknown clocks and bad memory", test_clock_errors},
    {"nanosleep", "nanosleep sleeps at least as long as asked", test_nanosleep},
    {"nanosleep-errors", "nanosleep refuses bad times and bad memory", test_nanosleep_errors},
    {"identity", "the process id is positive, constant, and the first thread's", test_identity},
    {"getcpu", "getcpu names a CPU and a node", test_getcpu},
    {"unknown-calls", "unknown system calls answer ENOSYS", test_unknown_calls},
    {"spawn-strings", "a spawned program gets its arguments and environment byte for byte", libc_test_spawn_strings},
    {"spawn-status", "waitpid gives the low byte of the exit status", libc_test_spawn_status},
    {"spawn-many", "eight children at once each end with their own status", libc_test_spawn_many},
    {"spawn-where", "a program is spawned on every kernel, with the descriptors it is given", libc_test_spawn_where},
    {"spawn-errors", "spawning refuses what execve refuses and leaves no child", libc_test_spawn_errors},
    {"messages-killed", "a kill ends an exercise of two thousand million messages", test_messages_killed},
    {"alone", "without Kettle the calls describe a machine with one kernel", test_alone},
};

static int child_exit(int argc, char **argv)
{
    return argc > 2 ? atoi(argv[2]) : 99;
}

static const struct tap_child children[] = {
    {"arguments", libc_child_arguments}, {"exit", child_exit}, {"echo", libc_child_echo}};

static const struct tap_program program = {
    .tests = tests, .count = TAP_COUNT(tests), .children = children, .child_count = TAP_COUNT(children)};

int main(int argc, char **argv)
{
    main_argc = argc;
    main_argv = argv;
    return tap_main(argc, argv, &program);
}
