/* The audit: do the kernels that host an address space agree about it, and does no kernel map memory that is neither
 * its own nor lent to it? mm/audit/audit.md has the rules and the protocol. An audit changes nothing. */
#ifndef MM_AUDIT_AUDIT_H
#define MM_AUDIT_AUDIT_H

#include "mm/audit/report.h"
#include "mm/space/space.h"

/* Registers the message handlers. Once. */
void audit_init(void);

/* Checks SPACE, which this kernel hosts and which the caller keeps alive, against the rules of one address space.
 * STILL: programs are quiesced; otherwise it takes the whole-space lock, so that faults and changes wait meanwhile.
 * Returns 0 whatever it finds; -ENOMEM or the errno of a kernel that did not answer, if the check is incomplete. Tasks
 * only: waits. */
int audit_space(struct space *space, bool still, struct audit_report *report);

/* While all programs of the machine are quiesced: checks the spaces whose home is this kernel, this kernel's page
 * tables and those of every space here, and this kernel's frames against all page tables of the machine. Errors as
 * above. Tasks only. */
int audit_kernel(struct audit_report *report);
/* After the death of a kernel, while programs are quiesced: drops the references to frames of this kernel that no page
 * table of OTHERS, all other kernels that run, or of this one, and no cache accounts for: those that have died had
 * them. Returns how many; -ENOMEM, or an error of a kernel that was asked: some may be left, and the next call releases
 * them. Tasks only; waits for the other kernels. */
int64_t audit_reclaim(kernel_set others);

/* The option audit= has this kernel say wrongly what it has of other kernels' files; of their objects. */
bool audit_lies_of_opens(void);
bool audit_lies_of_grants(void);

#endif
