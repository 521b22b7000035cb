/* What this kernel has of the calls under test, found out by one try each. tests/guest/vm/vm.h is the contract. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/vm/vm_access.h"
#include "tests/guest/vm/vm_operation.h"
#include "userland/x86.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define PAGES 4

/* A few private pages where nothing else is; their address, or 0. */
static long pages_make(int flags)
{
    long address = vm_mmap(NULL, PAGES * VM_PAGE, VM_PROT_RW, flags);

    return address > 0 ? address : 0;
}

static void pages_drop(long address)
{
    x86_syscall3(SYS_munmap, address, PAGES * (long)VM_PAGE, 0);
}

static bool placed(int flag)
{
    long result = vm_mmap(VM_RACE_ARENA, PAGES * VM_PAGE, VM_PROT_RW, MAP_PRIVATE | flag);

    if (result > 0)
        pages_drop(result);
    return result == (long)VM_RACE_ARENA;
}

static bool has_noreplace(int unused)
{
    (void)unused;
    return placed(MAP_FIXED_NOREPLACE);
}

static bool has_hint(int unused)
{
    (void)unused;
    return placed(0);
}

static bool has_call(int number)
{
    unsigned char there[PAGES];
    long address = pages_make(MAP_PRIVATE);
    long third = number == SYS_mincore ? (long)there : number == SYS_msync ? MS_ASYNC : (long)(2 * VM_PAGE);
    long result = x86_syscall(number, address, PAGES * (long)VM_PAGE, third, 0, 0, 0);

    pages_drop(address);
    return result != -ENOSYS;
}

static bool has_grows(int unused)
{
    (void)unused;
    return placed(MAP_FIXED | MAP_GROWSDOWN);
}

static bool has_dontunmap(int unused)
{
    long from = pages_make(MAP_PRIVATE), to;

    (void)unused;
    to = x86_syscall(SYS_mremap, from, PAGES * (long)VM_PAGE, PAGES * (long)VM_PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
                     0, 0);
    if (to > 0)
        pages_drop(to);
    pages_drop(from);
    return to > 0;
}

static bool has_populate(int unused)
{
    unsigned char there[PAGES] = {0};
    long address = pages_make(MAP_PRIVATE | MAP_POPULATE);
    long result = x86_syscall3(SYS_mincore, address, PAGES * (long)VM_PAGE, (long)there);

    (void)unused;
    pages_drop(address);
    return result == 0 && (there[0] & there[PAGES - 1] & 1) != 0;
}

/* A page that has been unmapped from a shared mapping comes back with it. */
static bool has_object(int unused)
{
    long address = pages_make(MAP_SHARED), length = PAGES * (long)VM_PAGE, grown;

    (void)unused;
    x86_syscall(SYS_mremap, address, length, length - (long)VM_PAGE, 0, 0, 0);
    grown = x86_syscall(SYS_mremap, address, length - (long)VM_PAGE, length, 0, 0, 0);
    pages_drop(address);
    return grown == address;
}

/* ENOMEM for a range that is not mapped, though there is nothing to do there. */
static bool has_hints_checked(int advice)
{
    long address = pages_make(MAP_PRIVATE);

    pages_drop(address);
    return x86_syscall3(SYS_madvise, address, PAGES * (long)VM_PAGE, advice) == -ENOMEM;
}

static bool has_advice(int advice)
{
    long address = pages_make(MAP_PRIVATE);
    long result = x86_syscall3(SYS_madvise, address, PAGES * (long)VM_PAGE, advice);

    pages_drop(address);
    return result == 0;
}

static const struct {
    const char *name;
    bool (*has)(int argument);
    int argument;
} features[VM_FEATURES] = {
    [VM_NOREPLACE] = {"MAP_FIXED_NOREPLACE", has_noreplace, 0},
    [VM_HINT] = {"hints", has_hint, 0},
    [VM_POPULATE] = {"MAP_POPULATE", has_populate, 0},
    [VM_MREMAP] = {"mremap", has_call, SYS_mremap},
    [VM_OBJECT] = {"the pages of shared memory", has_object, 0},
    [VM_MINCORE] = {"mincore", has_call, SYS_mincore},
    [VM_MSYNC] = {"msync", has_call, SYS_msync},
    [VM_ADVISE_HINT] = {"ENOMEM of MADV_NORMAL", has_hints_checked, MADV_NORMAL},
    [VM_ADVISE_FREE] = {"MADV_FREE", has_advice, MADV_FREE},
    [VM_ADVISE_HUGE] = {"MADV_HUGEPAGE", has_advice, MADV_HUGEPAGE},
    [VM_ADVISE_NOHUGE] = {"MADV_NOHUGEPAGE", has_advice, MADV_NOHUGEPAGE},
    [VM_ADVISE_FORK] = {"MADV_DONTFORK", has_advice, MADV_DONTFORK},
    [VM_ADVISE_WIPE] = {"MADV_WIPEONFORK", has_advice, MADV_WIPEONFORK},
    [VM_DONTUNMAP] = {"MREMAP_DONTUNMAP", has_dontunmap, 0},
    [VM_GROWS] = {"MAP_GROWSDOWN", has_grows, 0},
};

uint32_t vm_features(char *missing, int room)
{
    uint32_t found = 0;
    int length = 0;

    missing[0] = '\0';
    for (int i = 0; i < VM_FEATURES; i++) {
        if (features[i].has(features[i].argument))
            found |= 1u << i;
        else if (length < room)
            length += snprintf(missing + length, (size_t)(room - length), "%s%s", length == 0 ? "" : ", ",
                               features[i].name);
    }
    return found;
}
