/* Three processes in a row pass a text on, each with standard input and output. */
#include "abi.h"

static void stage(int in, int out, char add)
{
    char byte;
    dup2(in, 0);
    dup2(out, 1);
    for (int fd = 3; fd < 20; fd++)
        close(fd);
    while (read(0, &byte, 1) == 1) {
        byte = (char)(byte + add);
        MUST(write(1, &byte, 1));
    }
    _exit(0);
}
int main(void)
{
    int a[2], b[2], c[2], d[2], length = 0;
    char text[64] = "";
    MUST(pipe(a));
    MUST(pipe(b));
    MUST(pipe(c));
    MUST(pipe(d));
    if (fork() == 0)
        stage(a[0], b[1], 1);
    if (fork() == 0)
        stage(b[0], c[1], 2);
    if (fork() == 0)
        stage(c[0], d[1], -1);
    MUST(write(a[1], "ABCDEFGH", 8));
    close(a[1]), close(b[1]), close(c[1]), close(d[1]);
    for (ssize_t n; (n = read(d[0], text + length, 32)) > 0;)
        length += (int)n;
    TEXT(text);
    while (wait(NULL) > 0) {
    }
    return 0;
}
