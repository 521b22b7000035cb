/* test-update: kernels start from images of other builds, and wrong images are refused. Takes the names of two images:
 * of the same objects at other addresses, and of a kernel that does not share this machine's messages. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"

#define DAMAGED "/tmp/damaged.image"
#define MAGIC 64 /* bytes before an image's header */
#define DONE(call) CHECK((call) == 0, "%s: %s", #call, tap_error(errno))

static const char *moved, *foreign;
static int last; /* the last kernel */

/* The build that KERNEL says it is; 0: it says none. */
static unsigned long build_of(int kernel)
{
    char line[512];
    unsigned long build = 0;
    FILE *file = fopen("/proc/kettle/kernels", "r");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *word = strstr(line, " build ");
        int number;

        if (word != NULL && sscanf(line, "kernel %d", &number) == 1 && number == kernel)
            build = strtoul(word + 7, NULL, 16);
    }
    if (file != NULL)
        fclose(file);
    return build;
}

static void expect_agreement(void)
{
    static char report[8192];
    int violations = kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report));

    CHECK(violations == 0, "%d violations: %s", violations, report);
}

/* Threads go there, and processes: memory, files and signals of another kernel work on it. */
static void expect_work(int kernel)
{
    static int counted;
    int status = -1;
    pid_t child;

    DONE(kettle_migrate(kernel));
    CHECK(kettle_kernel() == kernel, "on kernel %d", kettle_kernel());
    counted++;
    child = fork();
    if (child == 0)
        _exit(counted & 127);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == (counted & 127),
          "a child on kernel %d: status %x", kernel, status);
    DONE(kettle_migrate(0));
}

/* The same by another process, which has ended when the kernel dies. */
static void expect_child_works(int kernel)
{
    pid_t child = fork();

    if (child == 0) {
        expect_work(kernel);
        _exit(0);
    }
    CHECK_EXITS(child, 0);
}

/* A kernel that runs the other build dies, and starts again. The first test: whoever was ever there would end with it.
 */
static void test_death(void)
{
    DONE(kettle_stop(last));
    DONE(kettle_image(last, moved));
    DONE(kettle_kill(last, KETTLE_KILL_NOW));
    DONE(kettle_image(last, moved));
    expect_child_works(last);
    DONE(kettle_kill(last, KETTLE_KILL_PANIC));
    DONE(kettle_start(last));
    expect_child_works(last);
    expect_agreement();
}

static void test_refused(void)
{
    unsigned long before = build_of(last);

    CHECK_ERROR(kettle_image(0, moved), EBUSY);
    CHECK_ERROR(kettle_image(last, moved), EBUSY);
    CHECK_ERROR(kettle_image(last + 1, moved), EINVAL);
    CHECK_ERROR(kettle_image(-2, moved), EINVAL);
    CHECK_ERROR(kettle_image(KETTLE_ANY, "/images/none"), ENOENT);
    CHECK_ERROR(kettle_image(KETTLE_ANY, (const char *)8), EFAULT);
    CHECK_ERROR(kettle_image(KETTLE_ANY, "/"), EISDIR);
    CHECK_ERROR(kettle_image(KETTLE_ANY, "/dev/zero"), ENOEXEC);
    CHECK_ERROR(kettle_image(KETTLE_ANY, "/bin/test-update"), ENOEXEC);
    CHECK_ERROR(kettle_image(KETTLE_ANY, foreign), EPROTO);
    DONE(kettle_image(KETTLE_ANY, moved));
    DONE(kettle_stop(last));
    CHECK_ERROR(kettle_image(last, foreign), EPROTO);
    CHECK(kettle_started(last) == 0, "kernel %d runs in spite of that", last);
    DONE(kettle_start(last));
    CHECK(build_of(last) == before, "kernel %d is build %lx, and was %lx", last, build_of(last), before);
    expect_work(last);
}

/* DAMAGED: SIZE bytes of the image, of which byte AT is another one. */
static bool damage(const char *bytes, off_t size, off_t at)
{
    int fd = open(DAMAGED, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    char other = (char)(bytes[at] ^ 4);
    bool good = fd >= 0 && write(fd, bytes, (size_t)size) == size && pwrite(fd, &other, 1, at) == 1;

    close(fd);
    return good;
}

static void test_damaged(void)
{
    struct stat facts;
    int fd = open(moved, O_RDONLY);
    char *bytes;

    CHECK(fd >= 0 && fstat(fd, &facts) == 0, "%s: %s", moved, tap_error(errno));
    bytes = malloc((size_t)facts.st_size);
    CHECK(read(fd, bytes, (size_t)facts.st_size) == facts.st_size, "%s: %s", moved, tap_error(errno));
    close(fd);
    for (int i = 0; i <= 16; i++) { /* one bit, somewhere */
        off_t at = (facts.st_size - 1) / 16 * i;

        if (!CHECK(damage(bytes, facts.st_size, at), "%s: %s", DAMAGED, tap_error(errno)))
            break;
        CHECK(kettle_image(KETTLE_ANY, DAMAGED) == -1 && (errno == ENOEXEC || (at < MAGIC && errno == EPROTO)),
              "byte %ld: %s", (long)at, tap_error(errno));
    }
    for (off_t size = 1; size < facts.st_size; size = size < 4096 ? size * 2 : size + facts.st_size / 5) {
        CHECK(damage(bytes, size, 0) && pwrite(fd = open(DAMAGED, O_WRONLY), bytes, 1, 0) == 1, "%s", DAMAGED);
        close(fd);
        CHECK(kettle_image(KETTLE_ANY, DAMAGED) == -1 && errno == ENOEXEC, "%ld bytes: %s", (long)size,
              tap_error(errno));
    }
    free(bytes);
    unlink(DAMAGED);
}

static void test_users(void)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        if (setuid(1000) != 0)
            _exit(2);
        _exit(kettle_image(KETTLE_ANY, moved) == -1 && errno == EPERM ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
}

/* One after the other, each kernel: also one whose text the kernels of its node run, while these run. */
static void test_each(void)
{
    unsigned long booted = build_of(0);

    for (int kernel = 1; kernel <= last; kernel++) {
        DONE(kettle_stop(kernel));
        DONE(kettle_image(kernel, moved));
        CHECK(build_of(kernel) != booted && build_of(kernel) != 0, "kernel %d is build %lx", kernel, build_of(kernel));
        for (int other = 0; other <= last; other++)
            expect_work(other);
        expect_agreement();
        DONE(kettle_stop(kernel));
        DONE(kettle_start(kernel));
        CHECK(build_of(kernel) == booted, "kernel %d is build %lx", kernel, build_of(kernel));
    }
}

/* All kernels run the other build, are stopped and started once more, and return: no memory is lost on the way. */
static void test_all(void)
{
    unsigned long booted = build_of(0);

    for (int round = 0; round < 3; round++) {
        for (int kernel = 1; kernel <= last; kernel++) {
            DONE(kettle_stop(kernel));
            DONE(kettle_image(kernel, moved));
        }
        for (int kernel = 0; kernel <= last; kernel++)
            expect_work(kernel);
    }
    expect_agreement();
    for (int kernel = last; kernel > 0; kernel--) {
        DONE(kettle_stop(kernel));
        DONE(kettle_start(kernel));
        CHECK(build_of(kernel) == booted, "kernel %d is build %lx", kernel, build_of(kernel));
    }
    expect_agreement();
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"death", "a kernel of another build may die and start again", test_death},
        {"refused", "what is no image of this machine's kernels is refused, and the kernel starts as before",
         test_refused},
        {"damaged", "an image with a wrong bit, or that ends early, is refused", test_damaged},
        {"users", "only root starts kernels from images", test_users},
        {"each", "each kernel in turn runs another build, and the others go on", test_each},
        {"all", "all kernels but 0 run another build, and return to theirs", test_all},
    };

    if (argc < 3 || kettle_kernels() < 2) {
        fprintf(stderr, "usage: test-update MOVED FOREIGN [TEST...], on several kernels\n");
        return 2;
    }
    moved = argv[1];
    foreign = argv[2];
    last = kettle_kernels() - 1;
    argv[2] = argv[0];
    return tap_run(argc - 2, argv + 2, tests, TAP_COUNT(tests));
}
