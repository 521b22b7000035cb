/* For test programs: do all kernels agree on the caller's memory? On Linux there is but one. */
#ifndef TESTS_GUEST_AUDIT_H
#define TESTS_GUEST_AUDIT_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"

/* Audits the caller's memory, in the thread that called tap_run; what is wrong is said in comment lines. Waits for all
 * kernels that have it. */
static inline bool audit_own(void)
{
    static char report[16384];
    int violations = kettle_audit(KETTLE_AUDIT_OWN, report, sizeof(report));

    if (violations < 0 && errno == ENOSYS)
        return true;
    if (violations < 0)
        tap_note("the audit fails: %s", strerror(errno));
    for (char *line = violations > 0 ? strtok(report, "\n") : NULL; line != NULL; line = strtok(NULL, "\n"))
        tap_note("%s", line);
    return violations == 0;
}

#endif
