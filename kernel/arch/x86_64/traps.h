/* Entry into the kernel: exceptions, interrupts and system calls, and the frame they leave on the stack. */
#ifndef KERNEL_ARCH_TRAPS_H
#define KERNEL_ARCH_TRAPS_H

#include <stdbool.h>
#include <stdint.h>

/* The registers of an interrupted program or kernel, as traps.S pushes them. */
struct trap_frame {
    uint64_t r15, r14, r13, r12, rbp, rbx, r11, rcx, rax;
    union {
        struct {
            uint64_t rdi, rsi, rdx, r10, r8, r9;
        };
        uint64_t arguments[6]; /* of a system call, in order */
    };
    uint64_t vector; /* TRAP_SYSCALL for a system call */
    uint64_t error;  /* error code; for a system call, the call's number */
    uint64_t rip, cs, rflags, rsp, ss;
};

#define TRAP_DIVIDE 0
#define TRAP_DEBUG 1
#define TRAP_NMI 2
#define TRAP_BREAKPOINT 3
#define TRAP_OVERFLOW 4
#define TRAP_BOUND 5
#define TRAP_OPCODE 6
#define TRAP_DEVICE 7
#define TRAP_DOUBLE_FAULT 8
#define TRAP_PROTECTION 13
#define TRAP_PAGE_FAULT 14
#define TRAP_X87 16
#define TRAP_ALIGNMENT 17
#define TRAP_MACHINE_CHECK 18
#define TRAP_SIMD 19
#define TRAP_SYSCALL 256

#define VECTOR_SERIAL 0x24   /* COM1, through the I/O APIC */
#define VECTOR_VIRTIO 0x25   /* answers of a virtio device, by MSI-X */
#define VECTOR_DOORBELL 0x41 /* a peer has messages for us */
#define VECTOR_WAKE 0x42     /* another CPU of this instance asks this one to check its run queue */
#define VECTOR_FLUSH 0x43    /* TLB shootdown within the instance */
#define VECTOR_TIMER 0x50    /* before all of these: peers that ring again and again leave it its turn */
#define VECTOR_SPURIOUS 0xff

#define PAGE_FAULT_PRESENT 1u
#define PAGE_FAULT_WRITE 2u
#define PAGE_FAULT_USER 4u
#define PAGE_FAULT_FETCH 16u

#define RFLAGS_USER_DEFAULT 0x202u
/* The flags that a program may set: status, direction, trap, nested task, alignment, identification. IF stays set;
 * IOPL, VM and RF stay clear. */
#define RFLAGS_USER_MASK 0x244dd5u

static inline bool trap_from_user(const struct trap_frame *frame)
{
    return (frame->cs & 3) == 3;
}

/* Builds the interrupt descriptor table; once per instance. */
void traps_init(void);
/* Loads the table and the SYSCALL registers on the calling CPU. */
void traps_init_cpu(void);

/* Called by traps.S with interrupts off; kernel/trap.c implements them. */
void trap_dispatch(struct trap_frame *frame);
/* Returns true if FRAME is still as the program's SYSCALL left it, except for the result in rax. */
bool syscall_dispatch(struct trap_frame *frame);

/* Leaves the kernel for the state in FRAME, which must be at the top of the running thread's kernel stack. */
_Noreturn void trap_return(struct trap_frame *frame);

/* Enables interrupts, halts until one has been handled, and disables them. No interrupt can come between: STI takes
 * effect after the next instruction. But an NMI may, and an interrupt directly behind its IRET: so an NMI that finds
 * the CPU at interrupts_wait_halt ends the wait (trap_dispatch), or what that interrupt has made ready would wait for
 * the next one. */
void interrupts_wait(void);
extern const char interrupts_wait_halt[];

/* Saves the callee-saved registers on the stack, the stack pointer in *OLD, and continues where NEW was saved. */
void context_switch(uint64_t *old, uint64_t new);
/* The return address on a new thread's saved stack: calls the function in rbx with the argument in r12. */
void context_start(void);

/* Copies between user and kernel memory. Returns 0, or 1 when a fault could not be resolved; the number of bytes
 * copied is then unknown. The page fault handler recognizes the addresses from user_copy_start to user_copy_end. */
uint64_t user_copy(void *to, const void *from, uint64_t size);
/* Atomic compare-and-exchange: stores VALUE at user address WORD if WORD contains *EXPECTED; *EXPECTED becomes the old
 * value. Returns 0, or 1 as user_copy does. Its code lies in the range that the page fault handler recognizes. */
uint64_t user_swap(uint32_t *word, uint32_t *expected, uint32_t value);
/* Reads the word at user address FROM. Returns 0, or 1 as user_copy does. The page fault handler recognizes it
 * likewise. By its name it counts as polling (tools/plugin). */
uint64_t idle_poll_load(uint32_t *to, const uint32_t *from);
/* Returns 0 when the byte AT can be written, without changing it, or 1 as user_copy does. The page fault handler
 * recognizes it likewise. */
uint64_t user_probe(uint8_t *at);
/* Saves the FPU registers at the 64-byte aligned user address TO, by XSAVE or by FXSAVE. Returns 0, or 1 as user_copy
 * does. The page fault handler recognizes it likewise. */
uint64_t user_save_fpu(void *to, bool xsave);
extern const char user_copy_start[], user_copy_end[], user_copy_fault[];

#endif
