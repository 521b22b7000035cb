/* Policies of objects: where new pages of a file, or of shared memory, are placed, whoever makes them. As in Linux's
 * tmpfs, mbind of a mapping sets them. mm/mempolicy/mempolicy.md, "Pages of objects". */
#ifndef MM_FILE_POLICY_H
#define MM_FILE_POLICY_H

#include <stdint.h>

struct policy; /* mm/mempolicy/mempolicy.h */

/* Registers the message. Once. */
void file_policy_init(void);

/* New pages of the COUNT pages of the object of BACKING, from the page that it names on, are placed by POLICY; DEFAULT:
 * by the policy of the thread that makes them. -ENXIO: there is no such object, or its kernel does not run; -ENOMEM:
 * nothing has changed; with BACKING_READ_ONLY fewer ranges are too many. Tasks only; waits for the object's kernel. */
int file_policy_set(uint64_t backing, uint64_t count, const struct policy *policy);
/* Sets *OUT to that policy of the page of BACKING. The same errors. Tasks only; waits. */
int file_policy_get(uint64_t backing, struct policy *out);

#endif
