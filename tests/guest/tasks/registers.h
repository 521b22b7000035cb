/* All registers of a thread at once: loaded, kept through a system call or a wait, stored. For C and
 * assembly. */
#ifndef TESTS_GUEST_REGISTERS_H
#define TESTS_GUEST_REGISTERS_H

/* Offsets into struct registers. */
#define REGISTERS_RAX 0
#define REGISTERS_RBX 8
#define REGISTERS_RCX 16
#define REGISTERS_RDX 24
#define REGISTERS_RSI 32
#define REGISTERS_RDI 40
#define REGISTERS_RBP 48
#define REGISTERS_R8 56
#define REGISTERS_R9 64
#define REGISTERS_R10 72
#define REGISTERS_R11 80
#define REGISTERS_R12 88
#define REGISTERS_R13 96
#define REGISTERS_R14 104
#define REGISTERS_R15 112
#define REGISTERS_FLAGS 120
#define REGISTERS_STACK 128
#define REGISTERS_FS_WORD 136
#define REGISTERS_GS_WORD 144
#define REGISTERS_SEGMENTS 152
#define REGISTERS_EXTENDED 192

#define REGISTERS_EXTENDED_SIZE 8192

#ifndef __ASSEMBLER__

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

struct registers {
    uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp;
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
    uint64_t flags;
    uint64_t stack;       /* RSP; stored only */
    uint64_t fs_word;     /* what lies at offset 0 of FS; stored only */
    uint64_t gs_word;     /* what lies at offset 0 of GS; stored only */
    uint16_t segments[4]; /* CS, SS, DS, ES; stored only */
    uint64_t unused[4];
    /* In the layout of XSAVE, standard form, or of FXSAVE where the CPU has no XSAVE. */
    alignas(64) uint8_t extended[REGISTERS_EXTENDED_SIZE];
};

_Static_assert(offsetof(struct registers, rdi) == REGISTERS_RDI, "registers.S");
_Static_assert(offsetof(struct registers, r15) == REGISTERS_R15, "registers.S");
_Static_assert(offsetof(struct registers, flags) == REGISTERS_FLAGS, "registers.S");
_Static_assert(offsetof(struct registers, stack) == REGISTERS_STACK, "registers.S");
_Static_assert(offsetof(struct registers, fs_word) == REGISTERS_FS_WORD, "registers.S");
_Static_assert(offsetof(struct registers, gs_word) == REGISTERS_GS_WORD, "registers.S");
_Static_assert(offsetof(struct registers, segments) == REGISTERS_SEGMENTS, "registers.S");
_Static_assert(offsetof(struct registers, extended) == REGISTERS_EXTENDED, "registers.S");

/* Loads all registers from IN, then makes the system call in RAX when WAIT is 0, or turns WAIT times in a
 * loop that touches no register but RCX, then stores all registers to OUT. COMPONENTS are the XSAVE
 * components to load and store, or 0 to use FXSAVE. The registers and the 128 bytes below the stack pointer,
 * which belong to this function meanwhile, are the caller's again when it returns; the GS base must point to
 * readable memory. After the call RCX and R11 in OUT are what the kernel left there. Only one thread at a
 * time may be in here. */
void registers_hold(const struct registers *in, struct registers *out, uint64_t components, uint64_t wait);

#endif

#endif
