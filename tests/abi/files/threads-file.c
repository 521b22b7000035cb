/* Threads on all CPUs write parts of one file. */
#include "abi.h"

static int fd;
static void *work(void *argument)
{
    char bytes[100];
    long me = (long)argument;
    go((int)me);
    memset(bytes, 'a' + (int)me, 100);
    for (int i = 0; i < 20; i++)
        MUST(pwrite(fd, bytes, 100, (i * 4 + me) * 100));
    return NULL;
}
int main(void)
{
    static char text[8000];
    pthread_t threads[4];
    long wrong = 0;
    fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    for (long i = 0; i < 4; i++)
        threads[i] = start(work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CALL(read(fd, text, sizeof(text)));
    for (int i = 0; i < 8000; i++)
        wrong += text[i] != 'a' + i / 100 % 4;
    SHOW(wrong);
    return 0;
}
