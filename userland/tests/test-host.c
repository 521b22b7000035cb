/* test-host: the machine's names are the same on every kernel. A Linux program but for where it runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "userland/tests/spread.h"
#include "userland/tests/tap.h"

static void expect_file(const char *path, const char *name)
{
    char text[80] = "", wanted[80];
    int fd = open(path, O_RDONLY);

    snprintf(wanted, sizeof(wanted), "%s\n", name);
    EXPECT(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strcmp(text, wanted) == 0, "%s has \"%s\"", path, text);
    close(fd);
}

static void test_names(void)
{
    struct utsname before, now;
    char longest[65];

    if (!EXPECT(uname(&before) == 0, "uname: %s", strerror(errno)))
        return;
    for (int k = 0; k < spread_count(); k++) {
        char host[32], domain[32];

        snprintf(host, sizeof(host), "host-%d", k);
        snprintf(domain, sizeof(domain), "domain.%d", k);
        spread_go(k);
        EXPECT(sethostname(host, strlen(host)) == 0, "kernel %d: %s", k, strerror(errno));
        EXPECT(setdomainname(domain, strlen(domain)) == 0, "kernel %d: %s", k, strerror(errno));
        spread_go(k + 1);
        EXPECT(uname(&now) == 0 && strcmp(now.nodename, host) == 0 && strcmp(now.domainname, domain) == 0,
               "kernel %d set it, it is %s and %s", k, now.nodename, now.domainname);
        expect_file("/proc/sys/kernel/hostname", host);
        expect_file("/proc/sys/kernel/domainname", domain);
    }
    memset(longest, 'n', 64);
    longest[64] = '\0';
    EXPECT(sethostname(longest, 64) == 0 && uname(&now) == 0 && strcmp(now.nodename, longest) == 0, "it is %s",
           now.nodename);
    EXPECT_ERROR(sethostname(longest, 65), EINVAL);
    EXPECT_ERROR(sethostname((const char *)TAP_UNMAPPED, 3), EFAULT);
    EXPECT(sethostname("", 0) == 0 && uname(&now) == 0 && now.nodename[0] == '\0', "it is %s", now.nodename);
    sethostname(before.nodename, strlen(before.nodename));
    setdomainname(before.domainname, strlen(before.domainname));
    spread_go(0);
}

int main(void)
{
    static const struct tap_test tests[] = {{"the names are what any kernel set last", test_names}};

    spread_begin();
    return tap_run(tests, TAP_COUNT(tests));
}
