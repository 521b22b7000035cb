/* Kettle's own calls, for programs. Link with libkettle.a; musl is the C library underneath.
 *
 * Kernels are numbered 0 to kettle_kernels() - 1. The number of kernels, and the node of each, never change
 * while the machine runs; every kernel but 0 may be started and stopped at any time (kettle_start, kettle_stop).
 *
 * Every function returns -1 and sets errno when it fails. The functions may be called from any thread, and act on the
 * calling thread. None is a cancellation point.
 *
 * On another operating system kernel, for example stock Linux, the functions describe a machine with one kernel, number
 * 0 on node 0, so that a program needs no second version; kettle_start, kettle_stop and kettle_spawn accept that
 * kernel. kettle_migrate, and the functions that measure or change Kettle itself (kettle_messages, _tally, _control,
 * _audit, _retrieve, _numa, _lock), fail with ENOSYS. Call kettle_migrate to find out whether the program runs on
 * Kettle. */
#ifndef LIBC_KETTLE_H
#define LIBC_KETTLE_H

#include <sys/types.h>

#include "kernel/abi/kettle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Moves the calling thread to KERNEL and returns 0 there. Registers, memory, descriptors, process id and
 * thread id are the same before and after; so is everything else that a program can observe, except speed: the
 * first access to a page on the new kernel fetches its mapping. A move to the kernel that the thread is on succeeds at
 * once. With numa=kettle the thread stays there until its affinity is set, also where it would do better near memory
 * that it uses (mm/seen/draw.md).
 *
 * EINVAL: no kernel has this number. EAGAIN: the kernel is not started. ENOMEM: it has no memory for the thread.
 * ENOSYS: not running on Kettle. After an error the thread is where it was.
 *
 * Waits for the other kernel to take the thread. */
int kettle_migrate(int kernel);

/* Returns the number of the kernel the calling thread runs on. The thread may be moved at any time: by the balancer
 * (balance=active), by the placement when it begins or executes a program (place=), by another thread's
 * sched_setaffinity, or because the kernel stops. So the number may be out of date when the call returns, unless the
 * thread's affinity has CPUs of that kernel only. Cannot fail and does not wait. */
int kettle_kernel(void);

/* Returns the number of kernels in the partition plan, started or not: 1 to 64. Cannot fail and does not wait. */
int kettle_kernels(void);

/* Returns the NUMA node of KERNEL's first CPU, as firmware numbers nodes.
 * EINVAL: no kernel has this number. Does not wait. */
int kettle_node(int kernel);

/* Starts KERNEL and returns 0 when it runs and accepts threads, also if it was already running.
 *
 * EINVAL: no kernel has this number. ETIMEDOUT: its CPUs did not come up; the call may be repeated.
 *
 * Waits until the kernel has started or has failed to, which takes milliseconds. */
int kettle_start(int kernel);

/* Starts KERNEL, which must not run, from the image of a kernel in the file PATH (build/kettle.image of another build)
 * and returns 0 when it runs. For KETTLE_ANY it only checks the image.
 * The next kettle_start of KERNEL takes the image that the machine was booted from again. Root only. After an error the
 * kernel is as before.
 *
 * EINVAL: no kernel has this number. EBUSY: KERNEL runs. ENOEXEC: the file is no image, or
 * damaged. EPROTO: kernels of this image and those of this machine do not share the same messages and structures.
 * ENOSPC: it does not fit into KERNEL's memory. ETIMEDOUT, ENOMEM and the errors of open(2) and read(2). ENOSYS: not
 * running on Kettle. */
int kettle_image(int kernel, const char *path);

/* Stops KERNEL and returns 0 when it no longer runs, also if it was not running. Its threads move to the nearest
 * kernels that their affinity allows (a thread that may only use CPUs of KERNEL may use all CPUs from then on), and the
 * nearest kernel takes over its processes, files and memory. All programs are quiesced for some milliseconds and notice
 * nothing else; process and thread ids stay the same. KERNEL may be started again.
 *
 * EINVAL: no kernel has this number. EBUSY: KERNEL is 0, which has the devices; or something on KERNEL, such as a
 * stopped process or a vfork's child, could not be moved within ten seconds: KERNEL keeps running, and the call may be
 * repeated. ENOMEM: the same, because other kernels lack memory. EINTR: a signal handler has run; the stop continues.
 * On another operating system 0 is the only kernel.
 *
 * Waits until the kernel has stopped or the stop has failed. */
int kettle_stop(int kernel);

/* Ends KERNEL as a failure would, for tests: HOW is KETTLE_KILL_*. Returns 0 when the other kernels have noticed its
 * death and have cleaned up, also if it was not running. Processes with a thread, memory or their home there end by
 * SIGKILL, and others that map its frames by SIGBUS; what is left of its files fails with EIO. KERNEL may be started
 * again. Root only.
 *
 * If KERNEL is 0, the machine ends, with a report.
 *
 * EINVAL: no kernel has this number, or there is no such way. EBUSY: the machine does not survive the death of kernels
 * (boot options death=off, lock=lamport), or no other kernel would notice that of kernel 0, which then dies of
 * KETTLE_KILL_PANIC alone. EINTR: a signal handler has run; the kernel dies all the same. ENOSYS: not running on
 * Kettle. */
int kettle_kill(int kernel, int how);

/* Returns 1 when KERNEL is started and 0 when not. EINVAL: no kernel has this number. Does not wait. */
int kettle_started(int kernel);

#define KETTLE_ANY (-1)     /* the kernel that the placement policy chooses (boot option place=) */
#define KETTLE_FDS_END (-2) /* ends a list of descriptors */
#define KETTLE_FDS_MAX 256  /* the longest list */

/* Starts the executable file PATH as a child process on KERNEL, directly: that kernel is its home. Returns its process
 * id. ARGV and ENVP are arrays of strings that end in a null pointer, as execve takes them. If FDS is
 * NULL, the child inherits the caller's descriptors except those marked FD_CLOEXEC. Otherwise FDS ends with
 * KETTLE_FDS_END, the child's descriptor i is the caller's FDS[i], or closed where FDS[i] is -1, and the child has no
 * other descriptors. The child has the caller's process group, session, signal mask and nice value; it may run on every
 * CPU.
 *
 * The errors are those of execve: ENOENT no such file, EACCES a directory or a file that may not be executed, ENOEXEC
 * not a static x86-64 executable, E2BIG too many arguments, EFAULT a bad pointer, ENOMEM no memory for the child; and
 * EINVAL no kernel has this number, EAGAIN the kernel is not started, EBADF a descriptor of the list is not open. After
 * an error there is no child. On another operating system KERNEL must be 0 or KETTLE_ANY, and the child also inherits
 * the caller's other descriptors.
 *
 * Waits until the file is loaded, but not until the child runs. */
pid_t kettle_spawn(int kernel, const char *path, char *const argv[], char *const envp[], const int *fds);

/* Exercises the channel between the caller's kernel and others, for measurement and tests; struct kettle_messages and
 * the operations are in kernel/abi/kettle.h. Returns 0 when all messages have been sent and handled, and requests
 * answered. EINVAL: invalid numbers. EAGAIN: a kernel is not started. EFAULT: a bad pointer. ENOMEM. ENOSYS: not
 * running on Kettle. Waits for the other kernels. */
int kettle_messages(const struct kettle_messages *run);

/* Stores in *TALLY the number of these messages that the caller's kernel has received from kernel FROM since boot.
 * EINVAL: no kernel has this number. EFAULT, ENOSYS. Does not wait. */
int kettle_tally(int from, struct kettle_tally *tally);

/* Changes options on every started kernel, as boot options of the same names (docs/options.md); WORDS are separated by
 * blanks: poll=N|always (how often an idle CPU looks for messages before it halts), trace=on|off|clear, inject=off or
 * inject=seed:N,rate:PERCENT,delay:US,peer:K,type:NAME,hold:US,slow:US (msg/PROTOCOL.md),
 * place=local|spread|least-loaded and balance=off|clone|active (tasks/balance/balance.md), huge=madvise|always|never
 * (mm/fault/huge.md), silence=clear (forget the longest silences: msg/PROTOCOL.md), audit=off|WORD (give audits false
 * answers: mm/audit/audit.md); and, for address spaces made later, retrieve=STRATEGY and prefetch=0..32
 * (mm/retrieve/retrieval.md). The word kernel=K restricts the change to kernel K. EINVAL: a word is unknown or its
 * value invalid; then nothing has changed. ENOMEM, EFAULT, ENOSYS. Waits for the other kernels. */
int kettle_control(const char *words);

#define KETTLE_AUDIT_OWN 0
#define KETTLE_AUDIT_MACHINE (-1)

/* Checks that all kernels agree on the memory of process PID, or of the caller's (KETTLE_AUDIT_OWN): one frame for each
 * page, equal protection, every area known at home, and the other rules of mm/audit/audit.md. Faults and changes of
 * that memory wait meanwhile. KETTLE_AUDIT_MACHINE checks all processes, and also that no kernel maps memory that is
 * neither its own nor lent to it, and that every frame has as many holders as its owner counts; all programs are
 * quiesced meanwhile.
 *
 * Returns the number of violations, 0 if there are none. Writes into REPORT, which has SIZE bytes, a text that ends in
 * a NUL: what was checked, and a line for each violation as far as there is room. ESRCH: no such process, or it is just
 * ending or beginning another program. EBUSY: programs could not be quiesced within ten seconds. ENOMEM, EFAULT; EINTR:
 * a signal handler has run. ENOSYS: not running on Kettle. Waits for the other kernels. */
int kettle_audit(pid_t pid, char *report, size_t size);

/* From now on kernels find the pages of process PID, or of the caller's (0), by STRATEGY, a name in
 * /proc/kettle/strategies (mm/retrieve/retrieval.md). Its threads keep running; faults and changes of its memory wait
 * meanwhile. Its children, and the next program that it executes, use the strategy of the option retrieve=.
 * EINVAL: no such strategy. ESRCH: no such process, or it is just ending or beginning another program. ENOMEM: nothing
 * has changed. EFAULT, ENOSYS. Waits for the kernels that host the address space. */
int kettle_retrieve(pid_t pid, const char *strategy);

/* From now on memory of process PID, or of the caller's (0), moves to those who use it by POLICY, a value of the option
 * numa= (mm/numa.md), whatever the option is for others; "default": by the option again. "POLICY,accessed" and
 * "POLICY,faults" also choose how its accesses are seen (mm/seen/hints.md), else numasee= does. Its children, and the
 * next program that it executes, begin with the option's. EINVAL: no such policy. ESRCH, ENOMEM, EFAULT, ENOSYS as
 * kettle_retrieve. Waits for the kernels that host the address space. */
int kettle_numa(pid_t pid, const char *policy);

/* Acquires the lock of LENGTH bytes of the caller's memory at ADDRESS over all kernels, as a fault or a change does,
 * and releases it at once, to measure locks. ADDRESS and LENGTH are multiples of 4096; the memory need not be mapped.
 * EINVAL, ENOMEM, ENOSYS. Waits for the tasks that hold the lock. */
int kettle_lock(const void *address, size_t length);

#ifdef __cplusplus
}
#endif

#endif
