/* Kettle's own system calls: numbers and shared constants. libc/kettle.h is the interface for programs.
 *
 * They lie far above Linux's numbers; a Linux kernel answers ENOSYS, which libc/kettle.c turns into the
 * behaviour of a machine with one kernel where that makes sense. */
#ifndef KERNEL_ABI_KETTLE_H
#define KERNEL_ABI_KETTLE_H

#define KETTLE_CALL_BASE 0x4b00

#define KETTLE_CALL_MIGRATE 0x4b00 /* (int kernel) -> 0 */
#define KETTLE_CALL_KERNEL 0x4b01  /* () -> number of the kernel the caller runs on */
#define KETTLE_CALL_KERNELS 0x4b02 /* () -> number of kernels in the plan */
#define KETTLE_CALL_NODE 0x4b03    /* (int kernel) -> its NUMA node */
#define KETTLE_CALL_START 0x4b04   /* (int kernel) -> 0 when it runs */
#define KETTLE_CALL_STARTED 0x4b05 /* (int kernel) -> 1 or 0 */
#define KETTLE_CALL_SPAWN 0x4b06   /* (const char *path, char **argv, char **envp) -> process id */
#define KETTLE_CALL_COUNT 7

#endif
