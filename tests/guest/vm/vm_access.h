/* Accesses that may fault, and come back saying how. */
#ifndef TESTS_GUEST_VM_ACCESS_H
#define TESTS_GUEST_VM_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/guest/vm/vm.h"

enum vm_way {
    VM_READ,
    VM_WRITE,
    VM_EXECUTE,      /* jumps to the word: it must begin with VM_RETURN, or not be executable */
    VM_KERNEL_READ,  /* the kernel compares the word's low half with VALUE's: -EAGAIN when they differ */
    VM_KERNEL_WRITE, /* and writes it; the value is a signal mask, see VM_MASK_BITS */
};

#define VM_RETURN 0xc3u                    /* the instruction RET */
#define VM_MASK_BITS 0x7ffffffe00000000ull /* signals that may be blocked for a moment without harm */
#define VM_ACCESS_WRITES(way) ((way) == VM_WRITE || (way) == VM_KERNEL_WRITE)

/* Takes SIGSEGV and SIGBUS of all threads from now on. Once, by main. */
bool vm_access_init(void);

/* Accesses WORD; VALUE is what is written. A signal that the access raises is not an error here but the outcome. */
struct vm_outcome vm_access(enum vm_way way, uint64_t *word, uint64_t value);

#endif
