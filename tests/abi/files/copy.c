/* sendfile, copy_file_range and splice move bytes between files. */
#include "abi.h"

int main(void)
{
    off_t from = 2;
    int a, b, fds[2];
    put_file("a", "abcdefghij");
    a = (int)MUST(open("a", O_RDONLY));
    b = (int)MUST(open("b", O_RDWR | O_CREAT, 0600));
    CALL(sendfile(b, a, &from, 4));
    SHOW(from);
    tell_file("b");
    CALL(copy_file_range(a, NULL, b, NULL, 5, 0));
    tell_file("b");
    MUST(pipe(fds));
    CALL(splice(a, NULL, fds[1], NULL, 100, 0));
    CALL(splice(fds[0], NULL, b, NULL, 100, 0));
    tell_file("b");
    CALL(splice(a, NULL, b, NULL, 100, 0));
    return 0;
}
