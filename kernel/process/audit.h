/* Audits that a program asks for: of its own memory, of a process anywhere, of the machine. mm/audit/audit.h performs
 * them; this file sends the requests and quiesces the machine for them. mm/audit/audit.md has the protocol. */
#ifndef KERNEL_PROCESS_AUDIT_H
#define KERNEL_PROCESS_AUDIT_H

#include <stdint.h>

#include "mm/audit/report.h"

#define AUDIT_MACHINE (-1)

void audit_calls_init(void);

/* Audits PROCESS, 0 for that of the current thread, or AUDIT_MACHINE, and adds to REPORT. 0, whatever was found;
 * -ESRCH: no such process, or it is ending or beginning a program; -EBUSY: programs do not quiesce within ten
 * seconds; -ENOMEM; -ERESTARTSYS; -EINTR: the caller is to die. Waits for other kernels. */
int audit_process(int64_t process, struct audit_report *report);

#endif
