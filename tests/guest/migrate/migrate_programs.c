/* test-migrate: programs that end, die and start away from home.
 *
 * A child is this program started again with the name of a row of children[] and a kernel's number; the row
 * says how it must end. One that could not move exits with STUCK. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/migrate/migrate.h"
#include "tests/guest/migrate/migrate_route.h"
#include "userland/x86.h"

#define STUCK 98

static void child_exit(int kernel)
{
    _exit(kettle_migrate(kernel) == 0 ? 7 : STUCK);
}

/* Ends through the C library, which runs handlers and flushes. */
static void child_return(int kernel)
{
    if (kettle_migrate(kernel) != 0)
        exit(STUCK);
    printf("# flushed at exit on kernel %d\n", kettle_kernel());
    exit(8);
}

static void child_null(int kernel)
{
    if (kettle_migrate(kernel) == 0)
        x86_null_write();
}

static void child_opcode(int kernel)
{
    if (kettle_migrate(kernel) == 0)
        x86_invalid_opcode();
}

/* Dies at home after it was away. */
static void child_back(int kernel)
{
    int start = kettle_kernel();

    if (kettle_migrate(kernel) == 0 && kettle_migrate(start) == 0)
        x86_null_write();
}

/* Touches a page at KERNEL that was touched there, and unmapped at home since. */
static void child_unmapped(int kernel)
{
    int start = kettle_kernel();
    volatile char *area = mmap(NULL, (size_t)PAGE, READ_WRITE, PRIVATE, -1, 0);

    if (kettle_migrate(kernel) != 0)
        return;
    area[0] = 1;
    if (kettle_migrate(start) != 0 || munmap((void *)area, PAGE) != 0 || kettle_migrate(kernel) != 0)
        return;
    area[0] = 2;
}

/* Writes a page at KERNEL that was written there, and made read-only at home since. */
static void child_protected(int kernel)
{
    int start = kettle_kernel();
    volatile char *area = mmap(NULL, (size_t)PAGE, READ_WRITE, PRIVATE, -1, 0);

    if (kettle_migrate(kernel) != 0)
        return;
    area[0] = 1;
    if (kettle_migrate(start) != 0 || mprotect((void *)area, PAGE, PROT_READ) != 0 || kettle_migrate(kernel) != 0)
        return;
    if (area[0] == 1)
        area[0] = 2;
}

/* Says where it runs. */
static void child_where(int kernel)
{
    (void)kernel;
    _exit(kettle_kernel());
}

struct child {
    const char *name;
    void (*run)(int kernel);
    int signal; /* it dies of, or 0 */
    int status; /* it exits with */
};

static const struct child children[] = {
    {"exit", child_exit, 0, 7},
    {"return", child_return, 0, 8},
    {"null", child_null, SIGSEGV, 0},
    {"opcode", child_opcode, SIGILL, 0},
    {"back", child_back, SIGSEGV, 0},
    {"unmapped", child_unmapped, SIGSEGV, 0},
    {"protected", child_protected, SIGSEGV, 0},
    {"where", child_where, 0, 0},
};

static const struct child *child_find(const char *name)
{
    for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
        if (strcmp(children[i].name, name) == 0)
            return &children[i];
    }
    return NULL;
}

bool migrate_child(const char *name, int kernel)
{
    const struct child *child = child_find(name);

    if (child != NULL)
        child->run(kernel);
    return child != NULL;
}

/* Runs the child called NAME once for each kernel but home. */
static void children_expect(const char *name)
{
    const struct child *child = child_find(name);

    if (!CHECK(child != NULL, "no child %s", name))
        return;
    for (int i = 0; i < route.count; i++) {
        char kernel[16];

        if (route.kernels[i] == route.home)
            continue;
        snprintf(kernel, sizeof(kernel), "%d", route.kernels[i]);
        if (child->signal != 0)
            CHECK_CHILD_DIES(name, kernel, child->signal);
        else
            CHECK_CHILD_EXITS(name, kernel, child->status);
    }
}

void migrate_test_exit(void)
{
    if (!route_begin(ROUTE_FEW))
        return;
    children_expect("exit");
    children_expect("return");
}

void migrate_test_die(void)
{
    if (!route_begin(ROUTE_FEW))
        return;
    children_expect("null");
    children_expect("opcode");
    children_expect("back");
}

void migrate_test_die_of_change(void)
{
    if (!route_begin(ROUTE_FEW))
        return;
    children_expect("unmapped");
    children_expect("protected");
}

void migrate_test_spawn_elsewhere(void)
{
    if (!route_begin(ROUTE_FEW))
        return;
    for (int i = 0; i < route.count; i++) {
        if (route.kernels[i] == route.home)
            continue;
        route_move(route.kernels[i]);
        CHECK_CHILD_EXITS("where", "0", route.kernels[i]);
        CHECK_ERROR(waitpid(-1, NULL, 0), ECHILD);
    }
    route_move(route.home);
}

void migrate_test_spawn_back(void)
{
    if (!route_begin(ROUTE_FEW))
        return;
    for (int i = 0; i < route.count; i++) {
        route_move(route.kernels[i]);
        route_move(route.home);
        CHECK_CHILD_EXITS("where", "0", route.home);
    }
}
