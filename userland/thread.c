/* Threads made with clone alone. userland/thread.h is the contract.
 *
 * A thread's area, from its low end: a guard page, the stack, the thread-local storage. The last is laid out
 * as the ABI asks for x86-64: the program's template ends at the thread pointer, whose first word is its own
 * address; what follows stands in for the C library's thread descriptor and is zero. */
#include "userland/thread.h"

#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "kernel/abi/kettle.h"
#include "userland/x86.h"

#define MOVE_LIMIT 10000000000l /* ns */
#define PAGE 4096ul
#define GUARD_SIZE PAGE
#define STACK_SIZE (16 * PAGE)
#define LOCAL_SIZE (4 * PAGE)
#define AREA_SIZE (GUARD_SIZE + STACK_SIZE + LOCAL_SIZE)
#define DESCRIPTOR_SIZE 1024ul
#define PATIENCE_NS 300000000000l

/* What pthread_create asks for; 0x400000 has had no meaning for long and is still passed. */
#define THREAD_FLAGS                                                                                                   \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |                 \
     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | 0x400000)

static const ElfW(Phdr) * local_template(void)
{
    const ElfW(Phdr) *header = (const ElfW(Phdr) *)getauxval(AT_PHDR);

    for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++) {
        if (header[i].p_type == PT_TLS)
            return &header[i];
    }
    return NULL;
}

/* Lays out thread-local storage in LOCAL_SIZE bytes at START and returns the thread pointer. */
static char *local_make(char *start)
{
    const ElfW(Phdr) *header = local_template();
    char *pointer = start + LOCAL_SIZE - DESCRIPTOR_SIZE;
    uintptr_t address;

    /* Page-aligned addresses less 1024 satisfy any alignment a test asks for. */
    if (header != NULL) {
        size_t align = header->p_align == 0 ? 1 : header->p_align;
        size_t size = (header->p_memsz + align - 1) / align * align;

        memcpy(pointer - size, (const void *)header->p_vaddr, header->p_filesz);
    }
    address = (uintptr_t)pointer;
    memcpy(pointer, &address, sizeof(address));
    return pointer;
}

static int thread_main(void *argument)
{
    struct thread *thread = argument;

    thread->run(thread);
    return 0;
}

bool thread_again(struct thread *thread, void (*run)(struct thread *thread))
{
    char *local = thread->area + GUARD_SIZE + STACK_SIZE;
    int tid;

    thread->run = run;
    tid = clone(thread_main, local, THREAD_FLAGS, thread, &thread->tid, local_make(local), &thread->tid);
    if (tid < 0)
        return false;
    thread->tid_first = tid;
    return true;
}

bool thread_start(struct thread *thread, void (*run)(struct thread *thread))
{
    /* Reserved without access and then opened, as the C library does it. */
    char *area = mmap(NULL, AREA_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (area == MAP_FAILED)
        return false;
    if (mprotect(area + GUARD_SIZE, AREA_SIZE - GUARD_SIZE, PROT_READ | PROT_WRITE) != 0)
        return false;
    thread->area = area;
    if (!thread_again(thread, run)) {
        int error = errno;

        munmap(area, AREA_SIZE);
        errno = error;
        return false;
    }
    return true;
}

long thread_time(void)
{
    struct timespec time = {0};

    x86_syscall3(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&time, 0);
    return time.tv_sec * 1000000000l + time.tv_nsec;
}

bool thread_ended(struct thread *thread)
{
    long begin = thread_time();

    while (atomic_load(&thread->tid) != 0) {
        x86_pause();
        x86_syscall0(SYS_sched_yield);
        if (thread_time() - begin > PATIENCE_NS)
            return false;
    }
    return true;
}

bool thread_join(struct thread *thread)
{
    return thread_ended(thread) && x86_syscall3(SYS_munmap, (long)thread->area, AREA_SIZE, 0) == 0;
}

_Noreturn void thread_exit(int status)
{
    for (;;)
        x86_syscall1(SYS_exit, status);
}

bool thread_wait(atomic_int *value, int goal)
{
    long begin = thread_time();

    for (unsigned turn = 0; atomic_load(value) < goal; turn++) {
        x86_pause();
        if (turn % 16 != 15)
            continue;
        x86_syscall0(SYS_sched_yield);
        if (turn % 1024 == 1023 && thread_time() - begin > PATIENCE_NS)
            return false;
    }
    return true;
}

long thread_move(int kernel)
{
    long result, limit = thread_time() + MOVE_LIMIT;

    do /* it may be stopped, and about to start again */
        result = x86_syscall1(KETTLE_CALL_MIGRATE, kernel);
    while (result == -EAGAIN && thread_time() < limit);
    return result == -ENOSYS && kernel == 0 ? 0 : result;
}

int thread_kernel(void)
{
    long result = x86_syscall0(KETTLE_CALL_KERNEL);

    return result == -ENOSYS ? 0 : (int)result;
}
