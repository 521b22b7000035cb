/* Kettle's own calls, for programs. Link with libkettle.a; musl is the C library underneath.
 *
 * Kernels are numbered 0 to kettle_kernels() - 1. The number of kernels, and the node of each, never change
 * while the machine runs; which are started may change at any time (kettle_start, kettle_stop), but for kernel 0.
 *
 * Every function returns -1 and sets errno when it fails. They may be called from any thread; each acts on
 * the thread that calls it. None is a cancellation point.
 *
 * On a kernel that is no Kettle, stock Linux for one, they describe a machine with one kernel, number 0 on
 * node 0, so that a program needs no second version: the calls that describe it, and start, stop and spawn, know that
 * one. kettle_migrate, and what measures or changes Kettle itself (kettle_messages, _tally, _control, _audit,
 * _retrieve, _lock), fail with ENOSYS; kettle_migrate is how to find out. */
#ifndef LIBC_KETTLE_H
#define LIBC_KETTLE_H

#include <sys/types.h>

#include "kernel/abi/kettle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Moves the calling thread to KERNEL and returns 0 there. Registers, memory, descriptors, process id and
 * thread id are the same before and after; so is everything else a program can observe, but speed: the first
 * access to a page on the new kernel fetches its mapping. Moving to where the thread is succeeds at once.
 *
 * EINVAL: no kernel has this number. EAGAIN: the kernel is not started. ENOMEM: it has no room for the
 * thread. ENOSYS: this is no Kettle. After an error the thread is where it was.
 *
 * Waits for the other kernel to take the thread. */
int kettle_migrate(int kernel);

/* Returns the number of the kernel the calling thread runs on. Others may order it elsewhere at any time: the balancer
 * (balance=active), the placement when it begins or executes a program (place=), another's sched_setaffinity, a kernel
 * that stops. So the number may be old when it comes back, unless the thread's affinity has CPUs of that kernel only.
 * Cannot fail and does not wait. */
int kettle_kernel(void);

/* Returns how many kernels the partition plan has, started or not: 1 to 64. Cannot fail and does not wait. */
int kettle_kernels(void);

/* Returns the NUMA node of KERNEL's first CPU, as firmware numbers nodes.
 * EINVAL: no kernel has this number. Does not wait. */
int kettle_node(int kernel);

/* Starts KERNEL and returns 0 when it runs and accepts threads. A kernel that already runs is no error.
 *
 * EINVAL: no kernel has this number. ETIMEDOUT: its CPUs did not come up; it may be tried again.
 *
 * Waits until the kernel has started or has failed to, which takes milliseconds. */
int kettle_start(int kernel);

/* Stops KERNEL and returns 0 when it does not run any more. Its threads go to the nearest kernels that their affinity
 * allows (one that may only use CPUs of KERNEL may use all from then on), and the nearest kernel takes over what it
 * had: processes, files, memory. Programs stand still for some milliseconds and notice nothing else; process and thread
 * ids stay. A kernel that does not run is no error. It may be started again.
 *
 * EINVAL: no kernel has this number. EBUSY: kernel 0, which has the devices; or something on KERNEL could not be moved
 * within ten seconds, a stopped process or a vfork's child: it runs on, and it may be tried again. ENOMEM: the same,
 * for want of memory on other kernels. EINTR: a signal handler has run; the stop goes on. On a kernel that is no Kettle
 * 0 is the only kernel.
 *
 * Waits until the kernel has stopped, or could not be. */
int kettle_stop(int kernel);

/* Returns 1 when KERNEL is started and 0 when not. EINVAL: no kernel has this number. Does not wait. */
int kettle_started(int kernel);

#define KETTLE_ANY (-1)     /* the kernel that the placement rule says (boot option place=) */
#define KETTLE_FDS_END (-2) /* ends a list of descriptors */
#define KETTLE_FDS_MAX 256  /* most that a list has */

/* Starts the executable file PATH as a child process on KERNEL, directly: that kernel is its home. Returns its process
 * id. ARGV and ENVP are arrays of strings that end in a null pointer, as execve takes them. FDS NULL: the child
 * inherits the caller's descriptors but those marked FD_CLOEXEC. Else FDS ends with KETTLE_FDS_END, the child's
 * descriptor i is the caller's FDS[i], or closed for -1, and it has no others. The child has the caller's process
 * group, session, signal mask and nice value; it may run on every CPU. Errors are those of execve: ENOENT no such file,
 * EACCES a directory or a file that may not be executed, ENOEXEC not a static x86-64 executable, E2BIG too many
 * arguments, EFAULT a bad pointer, ENOMEM no memory for it; and EINVAL no kernel has this number, EAGAIN it is not
 * started, EBADF a descriptor of the list that is not open. After an error there is no child. On a kernel that is no
 * Kettle only 0 and KETTLE_ANY are kernels, and the child has the caller's other descriptors, too. Waits until the file
 * is loaded, not for the child to run. */
pid_t kettle_spawn(int kernel, const char *path, char *const argv[], char *const envp[], const int *fds);

/* Exercises the channel between the caller's kernel and others, for measurement and tests; struct kettle_messages and
 * the operations are in kernel/abi/kettle.h. Returns 0 when all was sent, handled, and answered where answers belong to
 * it. EINVAL: numbers that make no sense. EAGAIN: a kernel is not started. EFAULT: a bad pointer. ENOMEM. ENOSYS: this
 * is no Kettle. Waits for the other kernels. */
int kettle_messages(const struct kettle_messages *run);

/* Tells which of these messages the caller's kernel has received from kernel FROM since boot. EINVAL: no kernel has
 * this number. EFAULT, ENOSYS. Does not wait. */
int kettle_tally(int from, struct kettle_tally *tally);

/* Changes options on every started kernel, as boot options of the same names (docs/options.md); WORDS are separated by
 * blanks: poll=N|always (how often an idle CPU looks for messages before it halts), trace=on|off|clear, inject=off or
 * inject=seed:N,rate:PERCENT,delay:US,peer:K,type:NAME,hold:US,slow:US (msg/PROTOCOL.md),
 * place=local|spread|least-loaded and balance=off|clone|active (tasks/balance/balance.md), huge=madvise|always|never
 * (mm/fault/huge.md), audit=off|WORD (tell audits something wrong: mm/audit/audit.md); and of address spaces that are
 * made later retrieve=STRATEGY and prefetch=0..32 (mm/retrieve/retrieval.md); with kernel=K on that kernel alone.
 * EINVAL: words that make no sense; then nothing has changed. ENOMEM, EFAULT, ENOSYS. Waits for the other kernels. */
int kettle_control(const char *words);

#define KETTLE_AUDIT_OWN 0
#define KETTLE_AUDIT_MACHINE (-1)

/* Checks that all kernels agree on the memory of process PID, or of the caller's (KETTLE_AUDIT_OWN): one frame for each
 * page, equal protection, every area known at home, and what else mm/audit/audit.md lists. Faults and changes of that
 * memory wait meanwhile. KETTLE_AUDIT_MACHINE: of all processes, and that no kernel maps memory that is not its own or
 * lent to it, and every frame has as many holders as its owner counts; all programs stand still meanwhile.
 *
 * Returns the number of violations, 0 when all is as it should be, and in REPORT, SIZE bytes and always with a NUL,
 * what was looked at and a line for each violation as far as there is room. ESRCH: no such process, or it is just
 * ending or beginning another program. EBUSY: programs do not come to rest within ten seconds. ENOMEM, EFAULT; EINTR: a
 * signal handler has run. ENOSYS: this is no Kettle. Waits for the other kernels. */
int kettle_audit(pid_t pid, char *report, size_t size);

/* From now on kernels find the pages of process PID, or of the caller's (0), by STRATEGY: home, members, broadcast,
 * chain, upfront, adaptive (mm/retrieve/retrieval.md). Its threads run on; faults and changes of the memory wait
 * meanwhile. Children, and the program that it begins next, have what retrieve= says. EINVAL: no such strategy. ESRCH:
 * no such process, or it is just ending or beginning another program. ENOMEM: nothing has changed. EFAULT, ENOSYS.
 * Waits for the kernels that have the memory. */
int kettle_retrieve(pid_t pid, const char *strategy);

/* Takes the lock of LENGTH bytes of the caller's memory at ADDRESS, both multiples of 4096, over all kernels, as a
 * fault or a change does, mapped or not, and gives it back at once: for measuring. EINVAL, ENOMEM, ENOSYS. Waits for
 * those that have it. */
int kettle_lock(const void *address, size_t length);

#ifdef __cplusplus
}
#endif

#endif
