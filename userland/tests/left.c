/* Open files of all kernels, from /proc/kettle/objects. See the header. */
#include "userland/tests/left.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userland/tests/tap.h"

#define TRIES 6000
#define PAUSE 10000 /* us */

struct left {
    long files, proxies, watchers, timers;
};

static struct left before;

static bool left_read(struct left *left)
{
    FILE *file = fopen("/proc/kettle/objects", "r");
    char line[1024];

    *left = (struct left){0};
    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL) {
        struct left one;
        const char *at = strstr(line, "files "), *timers = strstr(line, "timers ");

        if (at == NULL || timers == NULL ||
            sscanf(at, "files %ld proxies %ld watchers %ld", &one.files, &one.proxies, &one.watchers) != 3 ||
            sscanf(timers, "timers %ld", &one.timers) != 1)
            continue;
        left->files += one.files;
        left->proxies += one.proxies;
        left->watchers += one.watchers;
        left->timers += one.timers;
    }
    fclose(file);
    return true;
}

void left_begin(void)
{
    left_read(&before);
}

void left_test(void)
{
    struct left now;
    bool same = false;

    if (!tap_on_kettle()) {
        tap_skip("no Kettle");
        return;
    }
    for (int i = 0; i < TRIES && !same; i++) { /* what is closed on another kernel goes with a message */
        if (!EXPECT(left_read(&now) && now.files > 0, "/proc/kettle/objects"))
            return;
        same = now.files <= before.files && now.proxies <= before.proxies && now.watchers <= before.watchers &&
               now.timers <= before.timers;
        if (!same)
            usleep(PAUSE);
    }
    EXPECT(same, "files %ld, then %ld; proxies %ld, then %ld; watchers %ld, then %ld; timers %ld, then %ld",
           before.files, now.files, before.proxies, now.proxies, before.watchers, now.watchers, before.timers,
           now.timers);
}
