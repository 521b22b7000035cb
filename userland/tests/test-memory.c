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

#include "userland/tests/machine.h"
#include "userland/tests/tap.h"

#define PAGE 4096l
#define SURVIVED 99
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)

static char *map_pages(long pages, int protection)
{
    char *area = mmap(NULL, (size_t)(pages * PAGE), protection, ANONYMOUS, -1, 0);

    EXPECT(area != MAP_FAILED, "%ld pages: %s", pages, strerror(errno));
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
        EXPECT(((uintptr_t)area & (PAGE - 1)) == 0, "%p", (void *)area);
        EXPECT(is_zero(area, sizes[i] * PAGE), "%ld pages are not zero", sizes[i]);
        for (long page = 0; page < sizes[i]; page++)
            area[page * PAGE + page % PAGE] = (char)(page + 1);
        for (long page = 0; page < sizes[i]; page++)
            EXPECT(area[page * PAGE + page % PAGE] == (char)(page + 1), "page %ld of %ld", page, sizes[i]);
        EXPECT(munmap(area, (size_t)(sizes[i] * PAGE)) == 0, "%s", strerror(errno));
        EXPECT(!readable(area), "the first of %ld pages is still there", sizes[i]);
        EXPECT(!readable(area + (sizes[i] - 1) * PAGE), "the last of %ld pages is still there", sizes[i]);
    }
}

static void test_map_zero_again(void)
{
    for (int round = 0; round < 50; round++) {
        char *area = map_pages(8, READ_WRITE);

        if (area == NULL)
            return;
        EXPECT(is_zero(area, 8 * PAGE), "round %d", round);
        memset(area, 0xee, 8 * PAGE);
        EXPECT(munmap(area, 8 * PAGE) == 0, "%s", strerror(errno));
    }
}

static void test_map_odd_size(void)
{
    char *area = mmap(NULL, PAGE + 1, READ_WRITE, ANONYMOUS, -1, 0);

    if (!EXPECT(area != MAP_FAILED, "%s", strerror(errno)))
        return;
    area[2 * PAGE - 1] = 1;
    EXPECT(area[2 * PAGE - 1] == 1, "the rest of the last page cannot be used");
    EXPECT(munmap(area, PAGE + 1) == 0, "%s", strerror(errno));
    EXPECT(!readable(area + PAGE), "the last page is still there");
}

static void test_map_read_only(void)
{
    char *area = map_pages(4, PROT_READ);

    if (area == NULL)
        return;
    EXPECT(is_zero(area, 4 * PAGE), "not zero");
    EXPECT(readable(area) && !writable(area), "the kernel does not see it as read-only");
    EXPECT(is_zero(area, 4 * PAGE), "the kernel wrote there");
    EXPECT(munmap(area, 4 * PAGE) == 0, "%s", strerror(errno));
}

static void test_map_none(void)
{
    const long pages = 16384; /* 64 MiB reserved, as C libraries do for arenas and stacks */
    char *area = map_pages(pages, PROT_NONE);

    if (area == NULL)
        return;
    EXPECT(!readable(area) && !readable(area + (pages - 1) * PAGE), "reserved pages can be read");
    EXPECT(mprotect(area + 5 * PAGE, 2 * PAGE, READ_WRITE) == 0, "%s", strerror(errno));
    EXPECT(is_zero(area + 5 * PAGE, 2 * PAGE), "not zero");
    memset(area + 5 * PAGE, 1, 2 * PAGE);
    EXPECT(!readable(area + 4 * PAGE) && !readable(area + 7 * PAGE), "the neighbours can be read");
    EXPECT(munmap(area, (size_t)(pages * PAGE)) == 0, "%s", strerror(errno));
    EXPECT(!readable(area + 5 * PAGE), "still there");
}

static void test_map_hint(void)
{
    char *area = map_pages(4, READ_WRITE);
    char *again;

    if (area == NULL)
        return;
    area[0] = 7;
    again = mmap(area, PAGE, READ_WRITE, ANONYMOUS, -1, 0);
    EXPECT(again != MAP_FAILED && again != area, "a hint that is taken gives %p for %p", (void *)again, (void *)area);
    EXPECT(area[0] == 7, "a hint replaced what was there");
    munmap(again, PAGE);
    again = mmap(area + 1, PAGE, READ_WRITE, ANONYMOUS, -1, 0);
    EXPECT(again != MAP_FAILED && ((uintptr_t)again & (PAGE - 1)) == 0, "an odd hint gives %p", (void *)again);
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
    EXPECT(middle == area + 2 * PAGE, "%p: %s", (void *)middle, strerror(errno));
    EXPECT(is_zero(area + 2 * PAGE, PAGE), "the new page is not zero");
    EXPECT(area[2 * PAGE - 1] == 3 && area[3 * PAGE] == 3, "the neighbours changed");
    middle = mmap(area + 1 * PAGE, 3 * PAGE, PROT_NONE, ANONYMOUS | MAP_FIXED, -1, 0);
    EXPECT(middle == area + PAGE, "%p: %s", (void *)middle, strerror(errno));
    EXPECT(!readable(area + PAGE) && !readable(area + 3 * PAGE), "the old pages are still there");
    EXPECT(area[PAGE - 1] == 3 && area[4 * PAGE] == 3, "the neighbours changed");
    munmap(area, 5 * PAGE);
}

static void test_map_errors(void)
{
    EXPECT_ERROR((long)mmap(NULL, 0, READ_WRITE, ANONYMOUS, -1, 0), EINVAL);
    EXPECT_ERROR(syscall(SYS_mmap, NULL, PAGE, READ_WRITE, MAP_ANONYMOUS, -1, 0), EINVAL);
    EXPECT_ERROR(syscall(SYS_mmap, NULL, PAGE, READ_WRITE, ANONYMOUS, -1, 1), EINVAL);
    EXPECT_ERROR(syscall(SYS_mmap, 0x200001, PAGE, READ_WRITE, ANONYMOUS | MAP_FIXED, -1, 0), EINVAL);
    EXPECT_ERROR(syscall(SYS_mmap, NULL, 1l << 47, READ_WRITE, ANONYMOUS, -1, 0), ENOMEM);
    EXPECT_ERROR(syscall(SYS_mmap, NULL, -PAGE, READ_WRITE, ANONYMOUS, -1, 0), ENOMEM);
    EXPECT_ERROR(syscall(SYS_mmap, NULL, -1l, READ_WRITE, ANONYMOUS, -1, 0), ENOMEM);
    EXPECT_ERROR(syscall(SYS_mmap, NULL, PAGE, READ_WRITE, MAP_PRIVATE, -1, 0), EBADF);
    EXPECT_ERROR(syscall(SYS_mmap, TAP_KERNEL_ADDRESS, PAGE, READ_WRITE, ANONYMOUS | MAP_FIXED, -1, 0), ENOMEM);
    EXPECT_ERROR(syscall(SYS_mmap, 0xfffffffffff000, PAGE, READ_WRITE, ANONYMOUS | MAP_FIXED, -1, 0), ENOMEM);
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
                EXPECT(areas[i][page * PAGE] == (char)i, "page %ld of area %d", page, i);
            EXPECT(munmap(areas[i], (size_t)(pages[i] * PAGE)) == 0, "%s", strerror(errno));
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
    EXPECT(munmap(area + 4 * PAGE, PAGE) == 0, "the middle: %s", strerror(errno));
    EXPECT(munmap(area, PAGE) == 0, "the start: %s", strerror(errno));
    EXPECT(munmap(area + 8 * PAGE, PAGE) == 0, "the end: %s", strerror(errno));
    for (int page = 0; page < 9; page++) {
        bool gone = page == 0 || page == 4 || page == 8;

        EXPECT(readable(area + page * PAGE) == !gone, "page %d", page);
        EXPECT(gone || area[page * PAGE] == 5, "page %d changed", page);
    }
    EXPECT(munmap(area + PAGE, 7 * PAGE) == 0, "across the hole: %s", strerror(errno));
    EXPECT(!readable(area + PAGE) && !readable(area + 7 * PAGE), "still there");
    EXPECT(munmap(area, 9 * PAGE) == 0, "what is not mapped: %s", strerror(errno));
}

static void test_unmap_errors(void)
{
    char *area = map_pages(2, READ_WRITE);

    if (area == NULL)
        return;
    area[0] = 1;
    EXPECT_ERROR(munmap(area, 0), EINVAL);
    EXPECT_ERROR(munmap(area + 1, PAGE), EINVAL);
    EXPECT_ERROR(munmap(area, (size_t)-1), EINVAL);
    EXPECT_ERROR(munmap(TAP_KERNEL_ADDRESS, PAGE), EINVAL);
    EXPECT(area[0] == 1, "a refused munmap changed something");
    EXPECT(munmap(area, 2 * PAGE) == 0, "%s", strerror(errno));
}

/* --- mprotect --- */

static void test_protect(void)
{
    char *area = map_pages(6, READ_WRITE);

    if (area == NULL)
        return;
    memset(area, 9, 6 * PAGE);
    for (int round = 0; round < 20; round++) {
        EXPECT(mprotect(area + PAGE, 3 * PAGE, PROT_READ) == 0, "%s", strerror(errno));
        EXPECT(writable(area) && !writable(area + PAGE) && !writable(area + 3 * PAGE) && writable(area + 4 * PAGE),
               "pages 1 to 3 are to be read-only in round %d", round);
        EXPECT(mprotect(area + 2 * PAGE, PAGE, PROT_NONE) == 0, "%s", strerror(errno));
        EXPECT(!readable(area + 2 * PAGE) && readable(area + PAGE) && readable(area + 3 * PAGE),
               "page 2 alone is to be unreadable in round %d", round);
        EXPECT(mprotect(area, 6 * PAGE, READ_WRITE) == 0, "%s", strerror(errno));
        for (int page = 1; page < 4; page++)
            EXPECT(area[page * PAGE + 100] == 9, "page %d lost its contents", page);
        memset(area, 9, 6 * PAGE);
    }
    munmap(area, 6 * PAGE);
}

static void test_protect_untouched(void)
{
    char *area = map_pages(4, READ_WRITE);

    if (area == NULL)
        return;
    EXPECT(mprotect(area, 4 * PAGE, PROT_READ) == 0, "%s", strerror(errno));
    EXPECT(is_zero(area, 2 * PAGE) && !writable(area) && !writable(area + 3 * PAGE), "not read-only");
    EXPECT(mprotect(area, 4 * PAGE, READ_WRITE) == 0, "%s", strerror(errno));
    memset(area, 1, 4 * PAGE);
    EXPECT(area[0] == 1 && area[4 * PAGE - 1] == 1, "not writable again");
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
    EXPECT(mprotect(area, PAGE, PROT_READ | PROT_EXEC) == 0, "%s", strerror(errno));
    EXPECT(code_answer(code) == 42, "the code answers %d", code_answer(code));
    EXPECT(!writable(area), "code can be written");
    munmap(area, PAGE);
}

static void test_protect_errors(void)
{
    char *area = map_pages(3, READ_WRITE);

    if (area == NULL)
        return;
    EXPECT(mprotect(area, 0, PROT_READ) == 0, "nothing: %s", strerror(errno));
    EXPECT(writable(area), "protecting nothing changed something");
    EXPECT_ERROR(syscall(SYS_mprotect, area + 1, PAGE, PROT_READ), EINVAL);
    EXPECT_ERROR(syscall(SYS_mprotect, area, PAGE, 0x40), EINVAL);
    EXPECT_ERROR(mprotect(TAP_UNMAPPED, PAGE, PROT_READ), ENOMEM);
    EXPECT_ERROR(syscall(SYS_mprotect, area, -PAGE, PROT_READ), ENOMEM);
    EXPECT(munmap(area + PAGE, PAGE) == 0, "%s", strerror(errno));
    EXPECT_ERROR(mprotect(area, 3 * PAGE, PROT_READ), ENOMEM);
    EXPECT(munmap(area, 3 * PAGE) == 0, "%s", strerror(errno));
}

/* --- brk: nothing here may use malloc, which grows the break too --- */

static char *break_set(char *to)
{
    return (char *)machine_call1(SYS_brk, (long)to);
}

static void test_break(void)
{
    char *start = break_set(NULL);
    char *found;

    EXPECT(start != NULL, "no break");
    found = break_set(start + 5 * PAGE + 10);
    EXPECT(found == start + 5 * PAGE + 10, "%p for %p", (void *)found, (void *)(start + 5 * PAGE + 10));
    EXPECT(is_zero(start, 5 * PAGE + 10), "not zero");
    memset(start, 4, 5 * PAGE + 10);
    EXPECT(start[0] == 4 && start[5 * PAGE + 9] == 4, "not kept");
    found = break_set(start + PAGE);
    EXPECT(found == start + PAGE && start[PAGE - 1] == 4, "back to %p", (void *)found);
    EXPECT(!readable(start + 3 * PAGE), "what was given back is still there");
    found = break_set(start + 6 * PAGE);
    EXPECT(found == start + 6 * PAGE, "up again to %p", (void *)found);
    EXPECT(is_zero(start + 2 * PAGE, 4 * PAGE), "what comes back is not zero");
    EXPECT(start[PAGE - 1] == 4, "what stayed changed");
    found = break_set(start);
    EXPECT(found == start, "down to %p", (void *)found);
}

static void test_break_errors(void)
{
    char *start = break_set(NULL);
    char *found;

    found = break_set((char *)1);
    EXPECT(found == start, "below the program: %p", (void *)found);
    found = break_set((char *)TAP_KERNEL_ADDRESS);
    EXPECT(found == start, "in the kernel: %p", (void *)found);
    found = break_set((char *)TAP_NONCANONICAL);
    EXPECT(found == start, "nowhere: %p", (void *)found);
    found = break_set(NULL);
    EXPECT(found == start, "the break has moved to %p", (void *)found);
}

/* --- the kernel reaches into the program's memory --- */

static void test_kernel_access(void)
{
    char *area = map_pages(4, READ_WRITE);
    struct iovec *parts;

    if (area == NULL)
        return;
    EXPECT(writable(area + PAGE - 8), "the kernel cannot write across two pages never touched");
    EXPECT(!is_zero(area + PAGE - 8, 16), "nothing was written");
    EXPECT(munmap(area + 2 * PAGE, PAGE) == 0, "%s", strerror(errno));
    EXPECT(!writable(area + 2 * PAGE - 8), "the kernel writes across the end of a mapping");
    memset(area + 2 * PAGE - 8, 'x', 8);
    EXPECT(!readable(area + 2 * PAGE - 8), "the kernel reads a path across the end of a mapping");
    memcpy(area + 2 * PAGE - 8, "no/such", 8);
    EXPECT(readable(area + 2 * PAGE - 8), "the kernel reads behind the end of a path");
    parts = (struct iovec *)(area + 2 * PAGE - sizeof(struct iovec));
    parts->iov_base = area;
    parts->iov_len = 0;
    EXPECT(writev(1, parts, 1) == 0, "%s", strerror(errno));
    EXPECT_ERROR(writev(1, parts, 2), EFAULT);
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

    machine_misaligned_move(bytes);
}

struct fault {
    const char *name;
    void (*run)(void);
    int signal;
};

static const struct fault faults[] = {
    {"null-read", machine_null_read, SIGSEGV},
    {"null-write", machine_null_write, SIGSEGV},
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
    {"halt", machine_halt, SIGSEGV},
    {"interrupts-off", machine_interrupts_off, SIGSEGV},
    {"port-write", machine_port_write, SIGSEGV},
    {"page-table-read", machine_page_table_read, SIGSEGV},
    {"register-write", machine_register_write, SIGSEGV},
    {"interrupt", machine_interrupt, SIGSEGV},
    {"invalid-opcode", machine_invalid_opcode, SIGILL},
    {"divide-by-zero", machine_divide_by_zero, SIGFPE},
    {"breakpoint", machine_breakpoint, SIGTRAP},
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

        if (EXPECT(fault != NULL, "no fault %s", names[i]))
            EXPECT_SIGNAL(names[i], NULL, fault->signal);
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
        EXPECT_SIGNAL("after-unmap", NULL, SIGSEGV);
}

static void test_exit(void)
{
    EXPECT_EXIT("exit7", NULL, 7);
}

static const struct tap_test tests[] = {
    {"mapped pages are zero, keep what is written, and go away", test_map},
    {"pages that are used again are zero again", test_map_zero_again},
    {"a mapping's last page is whole", test_map_odd_size},
    {"a read-only mapping reads as zero and the kernel does not write to it", test_map_read_only},
    {"64 MiB without access can be reserved and opened in part", test_map_none},
    {"a hint never replaces what is there", test_map_hint},
    {"a fixed mapping replaces what is there and nothing else", test_map_fixed},
    {"mmap refuses what Linux refuses", test_map_errors},
    {"200 mappings that come and go stay apart", test_map_many},
    {"munmap takes out a middle, a start, an end, and holes", test_unmap_parts},
    {"munmap refuses what Linux refuses and changes nothing", test_unmap_errors},
    {"mprotect changes whole pages and keeps their contents", test_protect},
    {"mprotect holds for pages touched only later", test_protect_untouched},
    {"code that was written can be made executable", test_protect_code},
    {"mprotect refuses what Linux refuses", test_protect_errors},
    {"the break moves up and down and gives zeroed memory", test_break},
    {"the break stays where it is when it cannot move", test_break_errors},
    {"the kernel reads and writes user memory by the rules of its pages", test_kernel_access},
    {"touching null is SIGSEGV", test_fault_null},
    {"touching what is not mapped is SIGSEGV", test_fault_unmapped},
    {"touching against the protection is SIGSEGV", test_fault_protection},
    {"executing data is SIGSEGV", test_fault_execute},
    {"overflowing the stack is SIGSEGV", test_fault_stack},
    {"touching the kernel's half is SIGSEGV", test_fault_kernel},
    {"addresses that are none and misaligned vectors are SIGSEGV", test_fault_noncanonical},
    {"privileged instructions are SIGSEGV", test_fault_privileged},
    {"ud2 is SIGILL, a division by zero SIGFPE, int3 SIGTRAP", test_fault_instructions},
    {"thirty programs in a row can die", test_fault_many},
    {"a program that exits with 7 exits with 7", test_exit},
};

int main(int argc, char **argv)
{
    const struct fault *fault;

    if (argc == 1)
        return tap_run(tests, TAP_COUNT(tests));
    if (strcmp(argv[1], "exit7") == 0)
        return 7;
    fault = fault_find(argv[1]);
    if (fault != NULL) {
        fault->run();
        return SURVIVED;
    }
    puts("usage: test-memory\n\nChecks mmap, munmap, mprotect, brk and faults; writes TAP.");
    return strcmp(argv[1], "--help") == 0 ? 0 : 2;
}
