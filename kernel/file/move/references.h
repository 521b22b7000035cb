/* What each kernel has of the files and objects of the others, as the kernels say themselves while programs are
 * quiesced: opens of files, by descriptors, packets and proxies; and grants of objects, by areas. A file's kernel
 * counts both, and an audit compares them. After the death of a kernel what nobody has any more is taken back (lost.h).
 * kernel/machine/death.md has the table of who counts what. */
#ifndef KERNEL_FILE_MOVE_REFERENCES_H
#define KERNEL_FILE_MOVE_REFERENCES_H

#include <stdint.h>

#include "mm/audit/report.h"
#include "msg/message.h"

void references_init(void);
/* All of these: programs are quiesced. Tasks only; they wait for OTHERS, which are all other kernels that run, and
 * return 0, -ENOMEM, or an error of a kernel that was asked. May be repeated. */

/* Sets `counted` of each file and proxy here to the opens that are accounted for. */
int references_count_opens(kernel_set others);
/* Takes back the grants of objects here that were given to a kernel, or for it to one that has died, and that it does
 * not have. Adds their number to *TAKEN. */
int references_take_grants(kernel_set others, int64_t *taken);
/* Adds to REPORT each count of opens and grants of this kernel that is not what the kernels have. Changes nothing. */
int references_audit(kernel_set others, struct audit_report *report);

#endif
