/* Audits that a program requests: of its own memory, of a process on any kernel, of the machine. mm/audit performs
 * them; this file sends the requests and quiesces the machine for them. mm/audit/audit.md has the protocol. */
#ifndef KERNEL_PROCESS_AUDIT_H
#define KERNEL_PROCESS_AUDIT_H

#include <stdint.h>

#include "mm/audit/report.h"

#define AUDIT_MACHINE (-1)

void audit_calls_init(void);

/* Audits PROCESS (0: the caller's) or AUDIT_MACHINE and adds the findings to REPORT. Returns 0, whatever was found;
 * -ESRCH: the process does not exist, is ending, or is about to run another program; -EBUSY: programs do not quiesce
 * within ten seconds; -ENOMEM; -ERESTARTSYS; -EINTR: the caller has been killed. Waits for other kernels. */
int audit_process(int64_t process, struct audit_report *report);

#endif
