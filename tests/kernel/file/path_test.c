/* Paths.
 * sources: kernel/file/path.c */
#include "kernel/file/path.h"

#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "tests/test.h"

static char out[64];

static void check(const char *path, const char *expected, bool expected_directory)
{
    bool directory = !expected_directory;

    memset(out, 'x', sizeof(out));
    CHECK_EQ(path_normalize(path, out, sizeof(out), &directory), 0);
    CHECK_TEXT(out, expected);
    CHECK_EQ(directory, expected_directory);
}

TEST(path_plain, "a plain path loses its leading slash, and a relative one starts at the root")
{
    check("/bin/tour", "bin/tour", false);
    check("bin/tour", "bin/tour", false);
    check("a", "a", false);
}

TEST(path_slashes, "double and trailing slashes go, and a trailing one says that a directory is meant")
{
    check("//bin///tour", "bin/tour", false);
    check("/bin/", "bin", true);
    check("bin//", "bin", true);
    check("/", "", true);
    check("///", "", true);
}

TEST(path_dots, "single dots go, double dots take the name before them away, and none goes above the root")
{
    check(".", "", true);
    check("./a", "a", false);
    check("a/.", "a", true);
    check("a/./b", "a/b", false);
    check("a/..", "", true);
    check("a/b/..", "a", true);
    check("a/b/../c", "a/c", false);
    check("a/bc/../../d", "d", false);
    check("..", "", true);
    check("/../../a", "a", false);
    check("a/../../../b/./c/", "b/c", true);
}

TEST(path_dot_names, "names that only begin or end with dots are names")
{
    check("...", "...", false);
    check("a/..b/.c/d..", "a/..b/.c/d..", false);
    check(".kettle/run", ".kettle/run", false);
    check("a/.../b", "a/.../b", false);
}

TEST(path_empty, "an empty path does not exist")
{
    bool directory;

    CHECK_EQ(path_normalize("", out, sizeof(out), &directory), -ENOENT);
}

TEST(path_long_name, "a name of 255 bytes is one, of 256 is too long, also where .. would take it away")
{
    char path[2 * NAME_MAX], big[PATH_MAX];
    bool directory;

    memset(path, 'n', sizeof(path));
    path[NAME_MAX] = '\0';
    CHECK_EQ(path_normalize(path, big, sizeof(big), &directory), 0);
    CHECK_TEXT(big, path);
    path[NAME_MAX] = 'n';
    strcpy(path + NAME_MAX + 1, "/..");
    CHECK_EQ(path_normalize(path, big, sizeof(big), &directory), -ENAMETOOLONG);
}

TEST(path_room, "a result that does not fit with its NUL is too long, one that just fits is not")
{
    bool directory;

    CHECK_EQ(path_normalize("/abc/def", out, 8, &directory), 0);
    CHECK_TEXT(out, "abc/def");
    CHECK_EQ(path_normalize("/abc/def", out, 7, &directory), -ENAMETOOLONG);
    CHECK_EQ(path_normalize("abc", out, 3, &directory), -ENAMETOOLONG);
    CHECK_EQ(path_normalize("/", out, 1, &directory), 0);
    CHECK_TEXT(out, "");
}

/* The rule once more, by a list of names. */
static void reference(const char *path, char *text, bool *directory)
{
    char copy[64], *names[64];
    size_t count = 0;
    const char *last = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;

    *directory = *last == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
    strcpy(copy, path);
    for (char *name = strtok(copy, "/"); name != NULL; name = strtok(NULL, "/")) {
        if (strcmp(name, "..") == 0)
            count -= count > 0;
        else if (strcmp(name, ".") != 0)
            names[count++] = name;
    }
    *text = '\0';
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            strcat(text, "/");
        strcat(text, names[i]);
    }
}

TEST(path_random, "random paths of few characters agree with a list of names, in a buffer that just fits")
{
    static const char letters[] = "//..ab";
    uint64_t state = 1;

    for (int round = 0; round < 200000; round++) {
        char path[24], expected[64];
        size_t length = 1 + (size_t)test_below(&state, sizeof(path) - 1);
        bool directory, expected_directory;
        char *exact;

        for (size_t i = 0; i < length; i++)
            path[i] = letters[test_below(&state, sizeof(letters) - 1)];
        path[length < sizeof(path) ? length : sizeof(path) - 1] = '\0';
        reference(path, expected, &expected_directory);
        exact = malloc(length + 2);
        CHECK(exact != NULL);
        CHECK_EQ(path_normalize(path, exact, length + 2, &directory), 0);
        CHECK_TEXT(exact, expected);
        CHECK_EQ(directory, expected_directory);
        free(exact);
    }
}
