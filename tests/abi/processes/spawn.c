/* posix_spawn with file actions and attributes. */
#include "abi.h"

extern char **environ;
int main(int argc, char **argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *arguments[] = {argv[0], "again", NULL}, text[32] = "";
    int fds[2];
    pid_t pid;
    if (argc == 2) {
        printf("to the pipe, group of its own %d\n", getpgrp() == getpid());
        return 3;
    }
    MUST(pipe(fds));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    posix_spawn_file_actions_addclose(&actions, fds[0]);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    CODE(posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments, environ));
    reap(pid);
    CALL(read(fds[0], text, 31));
    text[strcspn(text, "\n")] = '\0';
    TEXT(text);
    CODE(posix_spawn(&pid, "/nowhere", NULL, NULL, arguments, environ));
    return 0;
}
