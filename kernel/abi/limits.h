/* The design limits of a Kettle machine, shared by every part. */
#ifndef KERNEL_ABI_LIMITS_H
#define KERNEL_ABI_LIMITS_H

#define KERNELS_MAX 64 /* instances: a set of them is a 64-bit word */
#define CPUS_MAX 256   /* processors taken from the MADT */
#define NODES_MAX 64   /* NUMA nodes (proximity domains) */
#define PAGE_SHIFT 12
#define PAGE_SIZE 4096ULL

#endif
