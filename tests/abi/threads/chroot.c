/* The root is that of all threads, and of who shares the working directory. */
#include "abi.h"

static void *deeper(void *name)
{
    CALL(chroot(name));
    tell_file("/file");
    return NULL;
}

static int child(void)
{
    pthread_t thread;
    char text[64];

    thread = start(deeper, "d");
    pthread_join(thread, NULL);
    tell_file("/file");
    tell_file("/../file");
    tell_file("file");
    tell_file("d/e/../file");
    CALL(chdir("/"));
    TEXT(getcwd(text, sizeof(text)));
    thread = start(deeper, "e");
    pthread_join(thread, NULL);
    tell_file("file");
    tell_file("/file");
    return 0;
}

static int sharer(void)
{
    int status;
    long other = syscall(SYS_clone, CLONE_FS | SIGCHLD, 0L, 0L, 0L, 0L);

    if (other == 0)
        _exit(chroot("d") == 0 ? 3 : 4);
    MUST(waitpid((pid_t)other, &status, 0) == other);
    printf("status %d\n", WEXITSTATUS(status));
    tell_file("/file");
    reap(spawn(child));
    tell_file("/file");
    return 0;
}

int main(void)
{
    MUST(mkdir("d", 0755));
    MUST(mkdir("d/e", 0755));
    put_file("file", "outside");
    put_file("d/file", "inside");
    put_file("d/e/file", "deeper");
    reap(spawn(child));
    reap(spawn(sharer));
    return 0;
}
