/* After a fork parent and child write to pages of their own. */
#include "abi.h"

static char *a;
static int channel[2];
static int child(void)
{
    char byte;
    a[0] = 'c';
    MUST(read(channel[0], &byte, 1));
    printf("child sees %c %c\n", a[0], a[PAGE]);
    return 0;
}
int main(void)
{
    pid_t pid;
    a = MAP(2 * PAGE, MAP_PRIVATE);
    a[0] = a[PAGE] = 'p';
    MUST(pipe(channel));
    pid = spawn(child);
    a[PAGE] = 'q';
    MUST(write(channel[1], "", 1));
    reap(pid);
    printf("parent sees %c %c\n", a[0], a[PAGE]);
    return 0;
}
