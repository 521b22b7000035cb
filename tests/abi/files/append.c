/* O_APPEND writes at the end, wherever the offset is, from two descriptors. */
#include "abi.h"

int main(void)
{
    int a = (int)MUST(open("a", O_RDWR | O_CREAT | O_APPEND, 0600)), b = (int)MUST(open("a", O_WRONLY | O_APPEND));
    MUST(write(a, "one ", 4));
    MUST(write(b, "two ", 4));
    CALL(lseek(a, 0, SEEK_SET));
    MUST(write(a, "three ", 6));
    CALL(lseek(a, 0, SEEK_CUR));
    CALL(fcntl(b, F_SETFL, 0));
    CALL(lseek(b, 0, SEEK_SET));
    MUST(write(b, "ONE", 3));
    tell_file("a");
    return 0;
}
