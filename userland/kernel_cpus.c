/* Which CPU belongs to which kernel. userland/kernel_cpus.h is the contract.
 *
 * The plan has a line "kernel K cpus LIST node N ..." for each kernel, LIST as in "0-3,8". */
#include "userland/kernel_cpus.h"

#include <stdlib.h>
#include <string.h>

#include "userland/proc_file.h"

static void list_read(const char *text, int kernel, int kernels[KERNEL_CPUS_MAX])
{
    for (;;) {
        char *end;
        long first = strtol(text, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;

        for (long cpu = first; cpu >= 0 && cpu <= last && cpu < KERNEL_CPUS_MAX; cpu++)
            kernels[cpu] = kernel;
        if (*end != ',')
            return;
        text = end + 1;
    }
}

bool kernel_cpus_read(int kernels[KERNEL_CPUS_MAX])
{
    char *plan = proc_file_read("/proc/kettle/plan");

    for (int cpu = 0; cpu < KERNEL_CPUS_MAX; cpu++)
        kernels[cpu] = -1;
    if (plan == NULL)
        return false;
    for (const char *line = plan; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "kernel ", 7) == 0) {
            char *rest;
            long kernel = strtol(line + 7, &rest, 10);

            if (strncmp(rest, " cpus ", 6) == 0)
                list_read(rest + 6, (int)kernel, kernels);
        }
    }
    free(plan);
    return true;
}
