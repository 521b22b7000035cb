/* test-memory: mmap, munmap, mprotect and brk as Linux defines them, and what happens to a program that
 * touches what it may not.
 *
 * A program that dies is a child of this one, started with the name of a row of faults[]. One that survives
 * its own fault exits with SURVIVED.
 *
 * Long because it is a list: every test is short and stands alone. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define PAGE 4096l
#define SURVIVED 99
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)

static char *map_pages(long pages, int protection)
{
    char *area = mmap(NULL, (size_t)(pages * PAGE), protection, ANONYMOUS, -1, 0);

    CHECK(area != MAP_FAILED, "%ld pages: %s", pages, strerror(errno));
    return area == MAP_FAILED ? NULL : area;
}

static bool is_zero(const char *bytes, long size)
{
    for (long i = 0; i < size; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

/* Asks the kernel whether ADDRESS can be read, without touching it: as a path, which names no file. */
static bool readable(const void *address)
{
    errno = 0;
    return syscall(SYS_open, address, 0) == -1 && errno != EFAULT;
}

/* Asks the kernel whether the program may write at ADDRESS, by having a clock's value put there. */
static bool writable(void *address)
{
    errno = 0;
    return syscall(SYS_clock_gettime, 1, address) == 0;
}

/* --- mmap --- */

static void test_map(void)
{
    static const long sizes[] = {1, 2, 3, 16, 511, 512, 513, 1024};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *area = map_pages(sizes[i], READ_WRITE);

        if (area == NULL)
            return;
        CHECK(((uintptr_t)area & (PAGE - 1)) == 0, "%p", (void *)area);
        CHECK(is_zero(area, sizes[i] * PAGE), "%ld pages are not zero", sizes[i]);
        for (long page = 0; page < sizes[i]; page++)
            area[page * PAGE + page % PAGE] = (char)(page + 1);
        for (long page = 0; page < sizes[i]; page++)
            CHECK(area[page * PAGE + page % PAGE] == (char)(page + 1), "page %ld of %ld", page, sizes[i]);
        CHECK(munmap(area, (size_t)(sizes[i] * PAGE)) == 0, "%s", strerror(errno));
        CHECK(!readable(area), "the first of %ld pages is still there", sizes[i]);
        CHECK(!readable(area + (sizes[i] - 1) * PAGE), "the last of %ld pages is still there", sizes[i]);
    }
}

static void test_map_zero_again(void)
{
    for (int round = 0; round < 50; round++) {
        char *area = map_pages(8, READ_WRITE);

        if (area == NULL)
            return;
        CHECK(is_zero(area, 8 * PAGE), "round %d", round);
        memset(area, 0xee, 8 * PAGE);
        CHECK(munmap(area, 8 * PAGE) == 0, "%s", strerror(errno));
    }
}

static void test_map_odd_size(void)
{
    char *area = mmap(NULL, PAGE + 1, READ_WRITE, ANONYMOUS, -1, 0);

    if (!CHECK(area != MAP_FAILED, "%s", strerror(errno)))
        return;
    area[2 * PAGE - 1] = 1;
    CHECK(area[2 * PAGE - 1] == 1, "the rest of the last page cannot be used");
    CHECK(munmap(area, PAGE + 1) == 0, "%s", strerror(errno));
    CHECK(!readable(area + PAGE), "the last page is still there");
}

static void test_map_read_only(void)
{
    char *area = map_pages(4, PROT_READ);

    if (area == NULL)
        return;
    CHECK(is_zero(area, 4 * PAGE), "not zero");
    CHECK(readable(area) && !writable(area), "the kernel does not see it as read-only");
    CHECK(is_zero(area, 4 * PAGE), "the kernel wrote there");
    CHECK(munmap(area, 4 * PAGE) == 0, "%s", strerror(errno));
}

static void test_map_none(void)
{
    const long pages = 16384; /* 64 MiB reserved, as C libraries do for arenas and stacks */
    char *area = map_pages(pages, PROT_NONE);

    if (area == NULL)
        return;
    CHECK(!readable(area) && !readable(area + (pages - 1) * PAGE), "reserved pages can be read");
    CHECK(mprotect(area + 5 * PAGE, 2 * PAGE, READ_WRITE) == 0, "%s", strerror(errno));
    CHECK(is_zero(area + 5 * PAGE, 2 * PAGE), "not zero");
    memset(area + 5 * PAGE, 1, 2 * PAGE);
    CHECK(!readable(area + 4 * PAGE) && !readable(area + 7 * PAGE), "the neighbours can be read");
    CHECK(munmap(area, (size_t)(pages * PAGE)) == 0, "%s", strerror(errno));
    CHECK(!readable(area + 5 * PAGE), "still there");
}

static void test_map_hint(void)
{
    char *area = map_pages(4, READ_WRITE);
    char *again;

    if (area == NULL)
        return;
    area[0] = 7;
    again = mmap(area, PAGE, READ_WRITE, ANONYMOUS, -1, 0);
    CHECK(again != MAP_FAILED && again != area, "a hint that is taken gives %p for %p", (void *)again, (void *)area);
    CHECK(area[0] == 7, "a hint replaced what was there");
    munmap(again, PAGE);
    again = mmap(area + 1, PAGE, READ_WRITE, ANONYMOUS, -1, 0);
    CHECK(again != MAP_FAILED && ((uintptr_t)again & (PAGE - 1)) == 0, "an odd hint gives %p", (void *)again);
    munmap(again, PAGE);
    munmap(area, 4 * PAGE);
}

static void test_map_fixed(void)
{
    char *area = map_pages(5, READ_WRITE);
    char *middle;

    if (area == NULL)
        return;
    memset(area, 3, 5 * PAGE);
    middle = mmap(area + 2 * PAGE, PAGE, READ_WRITE, ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(middle == area + 2 * PAGE, "%p: %s", (void *)middle, strerror(errno));
    CHECK(is_zero(area + 2 * PAGE, PAGE), "the new page is not zero");
    CHECK(area[2 * PAGE - 1] == 3 && area[3 * PAGE] == 3, "the neighbours changed");
    middle = mmap(area + 1 * PAGE, 3 * PAGE, PROT_NONE, ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(middle == area + PAGE, "%p: %s", (void *)middle, strerror(errno));
    CHECK(!readable(area + PAGE) && !readable(area + 3 * PAGE), "the old pages are still there");
    CHECK(area[PAGE - 1] == 3 && area[4 * PAGE] == 3, "the neighbours changed");
    munmap(area, 5 * PAGE);
}

static void test_map_errors(void)
{
    CHECK_ERROR((long)mmap(NULL, 0, READ_WRITE, ANONYMOUS, -1, 0), EINVAL);
    CHECK_ERROR(syscall(SYS_mmap, NULL, PAGE, READ_WRITE, MAP_ANONYMOUS, -1, 0), EINVAL);
    CHECK_ERROR(syscall(SYS_mmap, NULL, PAGE, READ_WRITE, ANONYMOUS, -1, 1), EINVAL);
    CHECK_ERROR(syscall(SYS_mmap, 0x200001, PAGE, READ_WRITE, ANONYMOUS | MAP_FIXED, -1, 0), EINVAL);
    CHECK_ERROR(syscall(SYS_mmap, NULL, 1l << 47, READ_WRITE, ANONYMOUS, -1, 0), ENOMEM);
    CHECK_ERROR(syscall(SYS_mmap, NULL, -PAGE, READ_WRITE, ANONYMOUS, -1, 0), ENOMEM);
    CHECK_ERROR(syscall(SYS_mmap, NULL, -1l, READ_WRITE, ANONYMOUS, -1, 0), ENOMEM);
    CHECK_ERROR(syscall(SYS_mmap, NULL, PAGE, READ_WRITE, MAP_PRIVATE, -1, 0), EBADF);
    CHECK_ERROR(syscall(SYS_mmap, TAP_KERNEL_ADDRESS, PAGE, READ_WRITE, ANONYMOUS | MAP_FIXED, -1, 0), ENOMEM);
    CHECK_ERROR(syscall(SYS_mmap, 0xfffffffffff000, PAGE, READ_WRITE, ANONYMOUS | MAP_FIXED, -1, 0), ENOMEM);
}

static void test_map_many(void)
{
    enum { AREAS = 200 };
    static char *areas[AREAS];
    static long pages[AREAS];
    uint64_t state = 11;

    for (int round = 0; round < 1500; round++) {
        int i = (int)(tap_random(&state) % AREAS);

        if (areas[i] != NULL) {
            for (long page = 0; page < pages[i]; page++)
                CHECK(areas[i][page * PAGE] == (char)i, "page %ld of area %d", page, i);
            CHECK(munmap(areas[i], (size_t)(pages[i] * PAGE)) == 0, "%s", strerror(errno));
        }
        pages[i] = 1 + (long)(tap_random(&state) % 6);
        areas[i] = map_pages(pages[i], READ_WRITE);
        if (areas[i] == NULL)
            return;
        for (long page = 0; page < pages[i]; page++)
            areas[i][page * PAGE] = (char)i;
    }
    for (int i = 0; i < AREAS; i++) {
        if (areas[i] != NULL)
            munmap(areas[i], (size_t)(pages[i] * PAGE));
    }
}

/* --- munmap --- */

static void test_unmap_parts(void)
{
    char *area = map_pages(9, READ_WRITE);

    if (area == NULL)
        return;
    memset(area, 5, 9 * PAGE);
    CHECK(munmap(area + 4 * PAGE, PAGE) == 0, "the middle: %s", strerror(errno));
    CHECK(munmap(area, PAGE) == 0, "the start: %s", strerror(errno));
    CHECK(munmap(area + 8 * PAGE, PAGE) == 0, "the end: %s", strerror(errno));
    for (int page = 0; page < 9; page++) {
        bool gone = page == 0 || page == 4 || page == 8;

        CHECK(readable(area + page * PAGE) == !gone, "page %d", page);
        CHECK(gone || area[page * PAGE] == 5, "page %d changed", page);
    }
    CHECK(munmap(area + PAGE, 7 * PAGE) == 0, "across the hole: %s", strerror(errno));
    CHECK(!readable(area + PAGE) && !readable(area + 7 * PAGE), "still there");
    CHECK(munmap(area, 9 * PAGE) == 0, "what is not mapped: %s", strerror(errno));
}

static void test_unmap_errors(void)
{
    char *area = map_pages(2, READ_WRITE);

    if (area == NULL)
        return;
    area[0] = 1;
    CHECK_ERROR(munmap(area, 0), EINVAL);
    CHECK_ERROR(munmap(area + 1, PAGE), EINVAL);
    CHECK_ERROR(munmap(area, (size_t)-1), EINVAL);
    CHECK_ERROR(munmap(TAP_KERNEL_ADDRESS, PAGE), EINVAL);
    CHECK(area[0] == 1, "a refused munmap changed something");
    CHECK(munmap(area, 2 * PAGE) == 0, "%s", strerror(errno));
}

/* --- mprotect --- */

static void test_protect(void)
{
    char *area = map_pages(6, READ_WRITE);

    if (area == NULL)
        return;
    memset(area, 9, 6 * PAGE);
    for (int round = 0; round < 20; round++) {
        CHECK(mprotect(area + PAGE, 3 * PAGE, PROT_READ) == 0, "%s", strerror(errno));
        CHECK(writable(area) && !writable(area + PAGE) && !writable(area + 3 * PAGE) && writable(area + 4 * PAGE),
              "pages 1 to 3 are to be read-only in round %d", round);
        CHECK(mprotect(area + 2 * PAGE, PAGE, PROT_NONE) == 0, "%s", strerror(errno));
        CHECK(!readable(area + 2 * PAGE) && readable(area + PAGE) && readable(area + 3 * PAGE),
              "page 2 alone is to be unreadable in round %d", round);
        CHECK(mprotect(area, 6 * PAGE, READ_WRITE) == 0, "%s", strerror(errno));
        for (int page = 1; page < 4; page++)
            CHECK(area[page * PAGE + 100] == 9, "page %d lost its contents", page);
        memset(area, 9, 6 * PAGE);
    }
    munmap(area, 6 * PAGE);
}

static void test_protect_untouched(void)
{
    char *area = map_pages(4, READ_WRITE);

    if (area == NULL)
        return;
    CHECK(mprotect(area, 4 * PAGE, PROT_READ) == 0, "%s", strerror(errno));
    CHECK(is_zero(area, 2 * PAGE) && !writable(area) && !writable(area + 3 * PAGE), "not read-only");
    CHECK(mprotect(area, 4 * PAGE, READ_WRITE) == 0, "%s", strerror(errno));
    memset(area, 1, 4 * PAGE);
    CHECK(area[0] == 1 && area[4 * PAGE - 1] == 1, "not writable again");
    munmap(area, 4 * PAGE);
}

static int code_answer(int (*code)(void))
{
    return code();
}

static void test_protect_code(void)
{
    static const unsigned char answer_42[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov $42, %eax; ret */
    char *area = map_pages(1, READ_WRITE);
    int (*code)(void);

    if (area == NULL)
        return;
    memcpy(area, answer_42, sizeof(answer_42));
    memcpy(&code, &area, sizeof(code));
    CHECK(mprotect(area, PAGE, PROT_READ | PROT_EXEC) == 0, "%s", strerror(errno));
    CHECK(code_answer(code) == 42, "the code answers %d", code_answer(code));
    CHECK(!writable(area), "code can be written");
    munmap(area, PAGE);
}

static void test_protect_errors(void)
{
    char *area = map_pages(3, READ_WRITE);

    if (area == NULL)
        return;
    CHECK(mprotect(area, 0, PROT_READ) == 0, "nothing: %s", strerror(errno));
    CHECK(writable(area), "protecting nothing changed something");
    CHECK_ERROR(syscall(SYS_mprotect, area + 1, PAGE, PROT_READ), EINVAL);
    CHECK_ERROR(syscall(SYS_mprotect, area, PAGE, 0x40), EINVAL);
    CHECK_ERROR(mprotect(TAP_UNMAPPED, PAGE, PROT_READ), ENOMEM);
    CHECK_ERROR(syscall(SYS_mprotect, area, -PAGE, PROT_READ), ENOMEM);
    CHECK(munmap(area + PAGE, PAGE) == 0, "%s", strerror(errno));
    CHECK_ERROR(mprotect(area, 3 * PAGE, PROT_READ), ENOMEM);
    CHECK(munmap(area, 3 * PAGE) == 0, "%s", strerror(errno));
}

/* --- brk: nothing here may use malloc, which grows the break too --- */

static char *break_set(char *to)
{
    return (char *)x86_syscall1(SYS_brk, (long)to);
}

static void test_break(void)
{
    char *start = break_set(NULL);
    char *found;

    CHECK(start != NULL, "no break");
    found = break_set(start + 5 * PAGE + 10);
    CHECK(found == start + 5 * PAGE + 10, "%p for %p", (void *)found, (void *)(start + 5 * PAGE + 10));
    CHECK(is_zero(start, 5 * PAGE + 10), "not zero");
    memset(start, 4, 5 * PAGE + 10);
    CHECK(start[0] == 4 && start[5 * PAGE + 9] == 4, "not kept");
    found = break_set(start + PAGE);
    CHECK(found == start + PAGE && start[PAGE - 1] == 4, "back to %p", (void *)found);
    CHECK(!readable(start + 3 * PAGE), "what was given back is still there");
    found = break_set(start + 6 * PAGE);
    CHECK(found == start + 6 * PAGE, "up again to %p", (void *)found);
    CHECK(is_zero(start + 2 * PAGE, 4 * PAGE), "what comes back is not zero");
    CHECK(start[PAGE - 1] == 4, "what stayed changed");
    found = break_set(start);
    CHECK(found == start, "down to %p", (void *)found);
}

static void test_break_errors(void)
{
    char *start = break_set(NULL);
    char *found;

    found = break_set((char *)1);
    CHECK(found == start, "below the program: %p", (void *)found);
    found = break_set((char *)TAP_KERNEL_ADDRESS);
    CHECK(found == start, "in the kernel: %p", (void *)found);
    found = break_set((char *)TAP_NONCANONICAL);
    CHECK(found == start, "nowhere: %p", (void *)found);
    found = break_set(NULL);
    CHECK(found == start, "the break has moved to %p", (void *)found);
}

/* --- the kernel reaches into the program's memory --- */

static void test_kernel_access(void)
{
    char *area = map_pages(4, READ_WRITE);
    struct iovec *parts;

    if (area == NULL)
        return;
    CHECK(writable(area + PAGE - 8), "the kernel cannot write across two pages never touched");
    CHECK(!is_zero(area + PAGE - 8, 16), "nothing was written");
    CHECK(munmap(area + 2 * PAGE, PAGE) == 0, "%s", strerror(errno));
    CHECK(!writable(area + 2 * PAGE - 8), "the kernel writes across the end of a mapping");
    memset(area + 2 * PAGE - 8, 'x', 8);
    CHECK(!readable(area + 2 * PAGE - 8), "the kernel reads a path across the end of a mapping");
    memcpy(area + 2 * PAGE - 8, "no/such", 8);
    CHECK(readable(area + 2 * PAGE - 8), "the kernel reads behind the end of a path");
    parts = (struct iovec *)(area + 2 * PAGE - sizeof(struct iovec));
    parts->iov_base = area;
    parts->iov_len = 0;
    CHECK(writev(1, parts, 1) == 0, "%s", strerror(errno));
    CHECK_ERROR(writev(1, parts, 2), EFAULT);
    munmap(area, 4 * PAGE);
}

/* --- what a program must not survive --- */

static volatile char sink;

static void read_at(const void *address)
{
    sink = *(const volatile char *)address;
}

static void write_at(void *address)
{
    *(volatile char *)address = 1;
}

static void jump_to(void *address)
{
    void (*code)(void);

    memcpy(&code, &address, sizeof(code));
    code();
}

static void fault_null_call(void)
{
    jump_to(NULL);
}

static void fault_unmapped_read(void)
{
    read_at(TAP_UNMAPPED);
}

static void fault_unmapped_write(void)
{
    write_at(TAP_UNMAPPED);
}

static void fault_after_unmap(void)
{
    char *area = mmap(NULL, 3 * PAGE, READ_WRITE, ANONYMOUS, -1, 0);

    memset(area, 1, 3 * PAGE);
    munmap(area + PAGE, PAGE);
    area[0] = area[2 * PAGE];
    read_at(area + PAGE);
}

static void fault_read_only(void)
{
    char *area = mmap(NULL, PAGE, READ_WRITE, ANONYMOUS, -1, 0);

    area[0] = 1;
    mprotect(area, PAGE, PROT_READ);
    if (area[0] == 1)
        write_at(area);
}

static void fault_none(void)
{
    read_at(mmap(NULL, PAGE, PROT_NONE, ANONYMOUS, -1, 0));
}

static void fault_constant_write(void)
{
    static const char constant[] = "constant";

    write_at((void *)(uintptr_t)constant);
}

static void fault_code_write(void)
{
    void (*code)(void) = fault_code_write;
    void *address;

    memcpy(&address, &code, sizeof(address));
    write_at(address);
}

static void fault_not_code(void)
{
    unsigned char *area = mmap(NULL, PAGE, READ_WRITE, ANONYMOUS, -1, 0);

    area[0] = 0xc3; /* ret */
    jump_to(area);
}

static void fault_stack_code(void)
{
    volatile unsigned char code[16] = {0xc3};

    jump_to((void *)(uintptr_t)code);
}

static volatile int depth_limit = INT_MAX;

static int stack_overflow(int depth)
{
    volatile char frame[1000];

    frame[0] = (char)depth;
    if (depth < depth_limit)
        return stack_overflow(depth + 1) + frame[0];
    return 0;
}

static void fault_stack_overflow(void)
{
    sink = (char)stack_overflow(0);
}

static void fault_kernel_read(void)
{
    read_at(TAP_KERNEL_ADDRESS);
}

static void fault_kernel_write(void)
{
    write_at(TAP_KERNEL_ADDRESS);
}

static void fault_kernel_call(void)
{
    jump_to(TAP_KERNEL_ADDRESS);
}

static void fault_direct_map(void)
{
    read_at((void *)0xffff800000000000);
}

static void fault_noncanonical_read(void)
{
    read_at(TAP_NONCANONICAL);
}

static void fault_noncanonical_call(void)
{
    jump_to(TAP_NONCANONICAL);
}

static void fault_misaligned(void)
{
    static const char bytes[64] = "bytes";

    x86_misaligned_move(bytes);
}

struct fault {
    const char *name;
    void (*run)(void);
    int signal;
};

static const struct fault faults[] = {
    {"null-read", x86_null_read, SIGSEGV},
    {"null-write", x86_null_write, SIGSEGV},
    {"null-call", fault_null_call, SIGSEGV},
    {"unmapped-read", fault_unmapped_read, SIGSEGV},
    {"unmapped-write", fault_unmapped_write, SIGSEGV},
    {"after-unmap", fault_after_unmap, SIGSEGV},
    {"read-only", fault_read_only, SIGSEGV},
    {"none", fault_none, SIGSEGV},
    {"constant-write", fault_constant_write, SIGSEGV},
    {"code-write", fault_code_write, SIGSEGV},
    {"not-code", fault_not_code, SIGSEGV},
    {"stack-code", fault_stack_code, SIGSEGV},
    {"stack-overflow", fault_stack_overflow, SIGSEGV},
    {"kernel-read", fault_kernel_read, SIGSEGV},
    {"kernel-write", fault_kernel_write, SIGSEGV},
    {"kernel-call", fault_kernel_call, SIGSEGV},
    {"direct-map", fault_direct_map, SIGSEGV},
    {"noncanonical-read", fault_noncanonical_read, SIGSEGV},
    {"noncanonical-call", fault_noncanonical_call, SIGSEGV},
    {"misaligned", fault_misaligned, SIGSEGV},
    {"halt", x86_halt, SIGSEGV},
    {"interrupts-off", x86_interrupts_off, SIGSEGV},
    {"port-write", x86_port_write, SIGSEGV},
    {"page-table-read", x86_page_table_read, SIGSEGV},
    {"register-write", x86_register_write, SIGSEGV},
    {"interrupt", x86_interrupt, SIGSEGV},
    {"invalid-opcode", x86_invalid_opcode, SIGILL},
    {"divide-by-zero", x86_divide_by_zero, SIGFPE},
    {"breakpoint", x86_breakpoint, SIGTRAP},
};

static const struct fault *fault_find(const char *name)
{
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (strcmp(faults[i].name, name) == 0)
            return &faults[i];
    }
    return NULL;
}

static void faults_expect(const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct fault *fault = fault_find(names[i]);

        if (CHECK(fault != NULL, "no fault %s", names[i]))
            CHECK_CHILD_DIES(names[i], NULL, fault->signal);
    }
}

#define FAULTS_EXPECT(...)                                                                                             \
    do {                                                                                                               \
        static const char *const names_[] = {__VA_ARGS__};                                                             \
        faults_expect(names_, sizeof(names_) / sizeof(names_[0]));                                                     \
    } while (0)

static void test_fault_null(void)
{
    FAULTS_EXPECT("null-read", "null-write", "null-call");
}

static void test_fault_unmapped(void)
{
    FAULTS_EXPECT("unmapped-read", "unmapped-write", "after-unmap");
}

static void test_fault_protection(void)
{
    FAULTS_EXPECT("read-only", "none", "constant-write", "code-write");
}

static void test_fault_execute(void)
{
    FAULTS_EXPECT("not-code", "stack-code");
}

static void test_fault_stack(void)
{
    FAULTS_EXPECT("stack-overflow");
}

static void test_fault_kernel(void)
{
    FAULTS_EXPECT("kernel-read", "kernel-write", "kernel-call", "direct-map");
}

static void test_fault_noncanonical(void)
{
    FAULTS_EXPECT("noncanonical-read", "noncanonical-call", "misaligned");
}

static void test_fault_privileged(void)
{
    FAULTS_EXPECT("halt", "interrupts-off", "port-write", "page-table-read", "register-write", "interrupt");
}

static void test_fault_instructions(void)
{
    FAULTS_EXPECT("invalid-opcode", "divide-by-zero", "breakpoint");
}

static void test_fault_many(void)
{
    for (int i = 0; i < 30; i++)
        CHECK_CHILD_DIES("after-unmap", NULL, SIGSEGV);
}

static void test_exit(void)
{
    CHECK_CHILD_EXITS("exit7", NULL, 7);
}

static const struct tap_test tests[] = {
    {"map", "mapped pages are zero, keep what is written, and go away", test_map},
    {"map-zero-again", "pages that are used again are zero again", test_map_zero_again},
    {"map-odd-size", "a mapping's last page is whole", test_map_odd_size},
    {"map-read-only", "a read-only mapping reads as zero and the kernel does not write to it", test_map_read_only},
    {"map-none", "64 MiB without access can be reserved and made accessible in part", test_map_none},
    {"map-hint", "a hint never replaces what is there", test_map_hint},
    {"map-fixed", "a fixed mapping replaces what is there and nothing else", test_map_fixed},
    {"map-errors", "mmap refuses what Linux refuses", test_map_errors},
    {"map-many", "200 mappings that come and go stay apart", test_map_many},
    {"unmap-parts", "munmap takes out a middle, a start, an end, and holes", test_unmap_parts},
    {"unmap-errors", "munmap refuses what Linux refuses and changes nothing", test_unmap_errors},
    {"protect", "mprotect changes whole pages and keeps their contents", test_protect},
    {"protect-untouched", "mprotect holds for pages touched only later", test_protect_untouched},
    {"protect-code", "code that was written can be made executable", test_protect_code},
    {"protect-errors", "mprotect refuses what Linux refuses", test_protect_errors},
    {"break", "the break moves up and down and gives zeroed memory", test_break},
    {"break-errors", "the break stays where it is when it cannot move", test_break_errors},
    {"kernel-access", "the kernel reads and writes user memory by the rules of its pages", test_kernel_access},
    {"fault-null", "touching null is SIGSEGV", test_fault_null},
    {"fault-unmapped", "touching what is not mapped is SIGSEGV", test_fault_unmapped},
    {"fault-protection", "touching against the protection is SIGSEGV", test_fault_protection},
    {"fault-execute", "executing data is SIGSEGV", test_fault_execute},
    {"fault-stack", "overflowing the stack is SIGSEGV", test_fault_stack},
    {"fault-kernel", "touching the kernel's half is SIGSEGV", test_fault_kernel},
    {"fault-noncanonical", "non-canonical addresses and misaligned vector moves are SIGSEGV", test_fault_noncanonical},
    {"fault-privileged", "privileged instructions are SIGSEGV", test_fault_privileged},
    {"fault-instructions", "ud2 is SIGILL, a division by zero SIGFPE, int3 SIGTRAP", test_fault_instructions},
    {"fault-many", "thirty programs can die one after the other", test_fault_many},
    {"exit", "a program that exits with 7 has exit status 7", test_exit},
};

int main(int argc, char **argv)
{
    const struct fault *fault;

    if (argc > 1 && strcmp(argv[1], "@exit7") == 0)
        return 7;
    fault = argc > 1 && argv[1][0] == '@' ? fault_find(argv[1] + 1) : NULL;
    if (fault != NULL) {
        fault->run();
        return SURVIVED;
    }
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
