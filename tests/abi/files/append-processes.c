/* Processes that append write whole records. */
#include "abi.h"

static int number;
static int child(void)
{
    int fd = (int)MUST(open("log", O_WRONLY | O_APPEND));
    char record[16];
    memset(record, 'a' + number, 16);
    go(number);
    for (int i = 0; i < 50; i++)
        MUST(write(fd, record, 16));
    return 0;
}
int main(void)
{
    static char text[5000];
    int fd = (int)MUST(open("log", O_RDONLY | O_CREAT, 0600)), counts[4] = {0}, wrong = 0;
    pid_t children[4];
    for (number = 0; number < 4; number++)
        children[number] = spawn(child);
    for (int i = 0; i < 4; i++)
        reap(children[i]);
    CALL(read(fd, text, sizeof(text)));
    for (int i = 0; i < 200; i++) {
        counts[text[i * 16] - 'a']++;
        for (int k = 1; k < 16; k++)
            wrong += text[i * 16 + k] != text[i * 16];
    }
    printf("%d %d %d %d wrong %d\n", counts[0], counts[1], counts[2], counts[3], wrong);
    return 0;
}
