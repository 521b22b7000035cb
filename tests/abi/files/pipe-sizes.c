/* Which sizes F_SETPIPE_SZ takes. */
#include "abi.h"

static void one(unsigned size)
{
    int ends[2];
    long got;

    MUST(pipe(ends));
    got = fcntl(ends[0], F_SETPIPE_SZ, size);
    printf("%u: %s %ld\n", size, got < 0 ? errno_name(errno) : "ok", got < 0 ? 0 : got);
    SHOW(fcntl(ends[1], F_GETPIPE_SZ));
    close(ends[0]);
    close(ends[1]);
}
static int as_user(void)
{
    MUST(setuid(1234));
    one(1048576);
    one(1048577);
    one(2097152);
    one(0x80000000u);
    return 0;
}
int main(void)
{
    int ends[2];
    static char data[8192];

    one(0);
    one(1);
    one(4095);
    one(4097);
    one(12288);
    one(65537);
    one(1000000);
    one(1048577);
    one(16777216);
    one(16777217);
    one(0x80000001u);
    one(0xffffffffu);
    reap(spawn(as_user));
    MUST(pipe(ends));
    MUST(write(ends[1], data, 8192));
    MUST(write(ends[1], data, 8192));
    CALL(fcntl(ends[1], F_SETPIPE_SZ, 4096));
    CALL(fcntl(ends[1], F_SETPIPE_SZ, 16384));
    CALL(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20));
    CALL(fcntl(0, F_SETPIPE_SZ, 4096));
    return 0;
}
