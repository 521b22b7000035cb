/* A directory of their own for tests. tests/guest/harness/directory.h is the contract. */
#include "tests/guest/harness/directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char directory_path[] = "/tmp/tests-XXXXXX";

int directory_run(int argc, char **argv, const struct tap_test *tests, size_t count, mode_t mode)
{
    int status;

    if (mkdtemp(directory_path) == NULL || chmod(directory_path, mode) != 0 || chdir(directory_path) != 0) {
        perror(directory_path);
        return 1;
    }
    status = tap_run(argc, argv, tests, count);
    if (rmdir(directory_path) != 0) {
        printf("# %s is not empty\n", directory_path);
        status = 1;
    }
    return status;
}
