/* The page cannot be written until then: the handler of the fault is the other CPU, and that of the trap flag after
 * each instruction. See the header. */
#include "tests/stand_in/overtake.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096ul
#define TRAP_FLAG 0x100ul /* a trap after each instruction */

static void *waited_for; /* the page; NULL: none */
static void (*other)(void *);
static void *other_context;

static void overtake(int number, siginfo_t *info, void *context)
{
    void *page = waited_for;

    (void)context;
    if (page == NULL || (uintptr_t)info->si_addr / PAGE != (uintptr_t)page / PAGE) {
        signal(number, SIG_DFL); /* a mistake of the code under test */
        return;
    }
    waited_for = NULL;
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    other(other_context);
}

void *overtake_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("# no memory");
        exit(1);
    }
    return memory;
}

void overtake_at(void *page, void (*function)(void *), void *context)
{
    struct sigaction action = {.sa_sigaction = overtake, .sa_flags = SA_SIGINFO | SA_NODEFER};

    waited_for = page;
    other = function;
    other_context = context;
    if (sigaction(SIGSEGV, &action, NULL) != 0 || mprotect(page, PAGE, PROT_READ) != 0) {
        perror("# no race");
        exit(1);
    }
}

static void (*look_on)(void);
static volatile uint64_t steps;

static void step(int number)
{
    (void)number;
    steps++;
    look_on();
}

uint64_t overtake_everywhere(void (*run)(void *), void *context, void (*look)(void))
{
    struct sigaction action = {.sa_handler = step};

    look_on = look;
    steps = 0;
    if (sigaction(SIGTRAP, &action, NULL) != 0) {
        perror("# no race");
        exit(1);
    }
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
    run(context);
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~TRAP_FLAG);
    signal(SIGTRAP, SIG_DFL);
    return steps;
}
