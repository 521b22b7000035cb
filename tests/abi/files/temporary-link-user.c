/* Names for open files: by another user, through another process, to where no link can be; renames across. */
#include "abi.h"

static int file;

static int child(void)
{
    for (;;)
        pause();
}
static int as_user(void)
{
    char name[64];
    int own;

    MUST(setuid(1234));
    CALL(linkat(file, "", AT_FDCWD, "u1", AT_EMPTY_PATH));
    snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "u2", AT_SYMLINK_FOLLOW));
    own = (int)MUST(open("open", O_RDWR | O_TMPFILE, 0600));
    snprintf(name, sizeof(name), "/proc/self/fd/%d", own);
    CALL(linkat(own, "", AT_FDCWD, "open/u3", AT_EMPTY_PATH));
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "open/u4", AT_SYMLINK_FOLLOW));
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "closed/u5", AT_SYMLINK_FOLLOW));
    CALL(unlink("open/u4"));
    return 0;
}
int main(void)
{
    char name[64];
    struct stat facts;
    int path, named;
    pid_t other;

    MUST(chmod(".", 0755));
    MUST(mkdir("open", 0755));
    MUST(chmod("open", 0777));
    MUST(mkdir("closed", 0755));
    file = (int)MUST(open(".", O_RDWR | O_TMPFILE, 0644));
    reap(spawn(as_user));
    other = spawn(child);
    snprintf(name, sizeof(name), "/proc/%d/fd/%d", other, file);
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "by", AT_SYMLINK_FOLLOW));
    MUST(kill(other, SIGKILL));
    reap(other);
    MUST(fstat(file, &facts));
    SHOW(facts.st_nlink);
    CALL(unlink("by"));
    snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
    path = (int)MUST(open(name, O_PATH));
    CALL(linkat(path, "", AT_FDCWD, "path", AT_EMPTY_PATH));
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "link", 0));
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "/proc/new", AT_SYMLINK_FOLLOW));
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "none/new", AT_SYMLINK_FOLLOW));
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "open", AT_SYMLINK_FOLLOW));
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "a", 0x8000));
    CALL(linkat(99, "", AT_FDCWD, "a", AT_EMPTY_PATH));
    CALL(link("/proc/self/stat", "stat"));
    CALL(rename("/proc/self/stat", "stat"));
    CALL(rename("path", "/proc/path"));
    CALL(link("path", "/proc/path"));
    put_file("gone", "text");
    named = (int)MUST(open("gone", O_RDWR));
    MUST(unlink("gone"));
    snprintf(name, sizeof(name), "/proc/self/fd/%d", named);
    CALL(linkat(AT_FDCWD, name, AT_FDCWD, "again", AT_SYMLINK_FOLLOW));
    CALL(linkat(named, "", AT_FDCWD, "again", AT_EMPTY_PATH));
    CALL(open("path", O_RDWR | O_TMPFILE, 0600));
    CALL(open("none", O_RDWR | O_TMPFILE, 0600));
    CALL(open(".", O_RDONLY | O_TMPFILE, 0600));
    CALL(open(".", O_RDWR | O_TMPFILE | O_CREAT, 0600));
    CALL(open("/proc", O_RDWR | O_TMPFILE, 0600));
    CALL(unlink("path"));
    MUST(fstat(file, &facts));
    SHOW(facts.st_nlink);
    return 0;
}
