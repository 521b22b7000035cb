/* interrupted KERNEL: a child on KERNEL, in a process group of its own in the foreground of the terminal, waits for
 * what ^C does. Prints "ready" when it may be typed, then what the child died of. The terminal is descriptor 0. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "libc/kettle.h"

int main(int argc, char **argv)
{
    struct termios modes;
    int status, ready[2];
    char byte;
    pid_t child;

    if (argc != 2 || tcgetattr(0, &modes) != 0 || pipe(ready) != 0)
        return 2;
    modes.c_lflag |= ISIG;
    modes.c_cc[VINTR] = 3;
    signal(SIGTTOU, SIG_IGN);
    if (tcsetattr(0, TCSANOW, &modes) != 0)
        return 3;
    child = fork();
    if (child == 0) {
        setpgid(0, 0);
        if (tcsetpgrp(0, getpid()) != 0 || kettle_migrate(atoi(argv[1])) != 0 || write(ready[1], "", 1) != 1)
            _exit(4);
        for (;;)
            pause();
    }
    if (read(ready[0], &byte, 1) != 1)
        return 5;
    puts("ready");
    fflush(stdout);
    if (waitpid(child, &status, 0) != child)
        return 6;
    printf("signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 0;
}
