/* A shared anonymous mapping that grows shows nothing behind the end of its object: SIGBUS there, EFAULT in calls. */
#include "abi.h"

static sigjmp_buf back;

static void bus(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    siglongjmp(back, info->si_code == BUS_ADRERR ? 1 : 2);
}

/* 0: AT can be touched; 1: SIGBUS with BUS_ADRERR; 2: with another code. */
static int touch(volatile char *at, int write)
{
    int how = sigsetjmp(back, 1);

    if (how != 0)
        return how;
    if (write)
        *at = 1;
    else
        (void)*at;
    return 0;
}

static char *second;

static int child(void)
{
    SHOW(second[0]);
    SHOW(touch(second + 4 * PAGE, 1));
    second[PAGE] = 9;
    return 0;
}

int main(void)
{
    char *a = MAP(3 * PAGE, MAP_SHARED), *b, *c;

    on_info(SIGBUS, bus, SA_NODEFER);
    memset(a, 'a', 3 * PAGE);
    b = mremap(a, 3 * PAGE, 6 * PAGE, MREMAP_MAYMOVE);
    SHOW(b != MAP_FAILED);
    SHOW(b[0] + b[3 * PAGE - 1]);
    for (int page = 0; page < 6; page++) {
        SHOW(touch(b + page * PAGE, 0));
        SHOW(touch(b + page * PAGE, 1));
    }
    CALL(write(open("file", O_RDWR | O_CREAT, 0600), b + 4 * PAGE, 1));
    b = mremap(b, 6 * PAGE, 4 * PAGE, 0);
    b = mremap(b, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
    SHOW(b != MAP_FAILED);
    SHOW(touch(b + 2 * PAGE, 1));
    SHOW(touch(b + 3 * PAGE, 1));
    SHOW(touch(b + 7 * PAGE, 0));
    b[0] = 5;
    c = mremap(b, 0, 8 * PAGE, MREMAP_MAYMOVE);
    SHOW(c != MAP_FAILED && c != b);
    SHOW(c[0]);
    SHOW(touch(c + 3 * PAGE, 0));
    c[2 * PAGE] = 7;
    SHOW(b[2 * PAGE]);
    second = c;
    reap(spawn(child));
    SHOW(b[PAGE]);
    SHOW(touch(b + 3 * PAGE, 1));
    CALL(munmap(c, 8 * PAGE));
    CALL(munmap(b, 8 * PAGE));
    return 0;
}
