/* A pseudo terminal: its pair, lines, echo, ^C as a byte, size. */
#include "abi.h"

/* What a terminal shows comes in as many pieces as it likes. */
static long read_count(int file, char *text, long count)
{
    long had = 0;

    while (had < count)
        had += MUST(read(file, text + had, (size_t)(count - had)));
    return had;
}

int main(void)
{
    struct winsize size = {24, 80, 0, 0}, got;
    struct termios mode;
    char text[64] = "";
    int master = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY)), slave;
    CALL(grantpt(master));
    CALL(unlockpt(master));
    SHOW(strncmp(ptsname(master), "/dev/pts/", 9));
    slave = (int)MUST(open(ptsname(master), O_RDWR | O_NOCTTY));
    SHOW(isatty(slave));
    CALL(write(master, "line\n", 5));
    CALL(read(slave, text, 63));
    CALL(read_count(master, text, 6));
    SHOW(memcmp(text, "line\r\n", 6));
    CALL(write(slave, "out\n", 4));
    CALL(read_count(master, text, 5));
    SHOW(memcmp(text, "out\r\n", 5));
    CALL(write(master, "ab\177c\n", 5));
    memset(text, 0, sizeof(text));
    CALL(read(slave, text, 63));
    SHOW(strcmp(text, "ac\n"));
    CALL(ioctl(master, TIOCSWINSZ, &size));
    CALL(ioctl(slave, TIOCGWINSZ, &got));
    printf("%d %d\n", got.ws_row, got.ws_col);
    MUST(tcgetattr(slave, &mode));
    cfmakeraw(&mode);
    CALL(tcsetattr(slave, TCSANOW, &mode));
    MUST(tcflush(master, TCIOFLUSH));
    CALL(write(master, "\003x", 2));
    CALL(read(slave, text, 63));
    SHOW(text[0]);
    close(slave);
    return 0;
}
