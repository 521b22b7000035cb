/* Open files of all kernels, from /proc/kettle/objects. See the header. */
#include "tests/guest/harness/open_files.h"

#include <stdio.h>
#include <string.h>

#include "tests/guest/harness/tap_internal.h"

struct counts {
    long files, proxies, watchers, timers;
};

static struct counts before;

static bool counts_read(struct counts *counts)
{
    FILE *file = fopen("/proc/kettle/objects", "r");
    char line[1024];

    *counts = (struct counts){0};
    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL) {
        struct counts one;
        const char *at = strstr(line, "files "), *timers = strstr(line, "timers ");

        if (at == NULL || timers == NULL ||
            sscanf(at, "files %ld proxies %ld watchers %ld", &one.files, &one.proxies, &one.watchers) != 3 ||
            sscanf(timers, "timers %ld", &one.timers) != 1)
            continue;
        counts->files += one.files;
        counts->proxies += one.proxies;
        counts->watchers += one.watchers;
        counts->timers += one.timers;
    }
    fclose(file);
    return true;
}

void open_files_note(void)
{
    tap_watch(); /* the harness's own timer is counted, too */
    counts_read(&before);
}

static bool as_few(const struct counts *now)
{
    return now->files <= before.files && now->proxies <= before.proxies && now->watchers <= before.watchers &&
           now->timers <= before.timers;
}

void open_files_test(void)
{
    struct counts now = {0};

    if (!tap_on_kettle()) {
        tap_skip("no Kettle");
        return;
    }
    if (!CHECK(counts_read(&now) && now.files > 0, "/proc/kettle/objects has no files"))
        return;
    UNTIL(counts_read(&now) && as_few(&now), "files that were closed on other kernels to go");
}
