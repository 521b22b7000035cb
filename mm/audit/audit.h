/* The audit: does what all kernels know of an address space agree, and does no kernel map memory that is not its own or
 * lent to it? mm/audit/audit.md has the rules and the protocol. It changes nothing. */
#ifndef MM_AUDIT_AUDIT_H
#define MM_AUDIT_AUDIT_H

#include "mm/audit/report.h"
#include "mm/space/space.h"

/* Registers the message handlers. Once. */
void audit_init(void);

/* Checks SPACE, which this kernel hosts and whose caller keeps it alive, against the rules of one address space. STILL:
 * programs are quiesced; else it takes the lock of the whole space, so faults and changes wait meanwhile. 0, whatever
 * was found; -ENOMEM, or the errno of a kernel that did not answer: then part of it is not checked. Tasks only, it
 * waits. */
int audit_space(struct space *space, bool still, struct audit_report *report);

/* All programs of the machine are quiesced: checks the spaces at home here, this kernel's page tables and those of
 * every space here, and what the machine's page tables say of this kernel's frames. Errors as above. Tasks only. */
int audit_kernel(struct audit_report *report);

#endif
