/* The offset of sendfile, copy_file_range and splice must be in memory that can be read and written. */
#include "abi.h"

int main(void)
{
    int in, out, ends[2];
    off_t *read_only = (off_t *)MAP(PAGE, MAP_PRIVATE);
    off_t *none = (off_t *)MAP(PAGE, MAP_PRIVATE);
    int saved;

    put_file("in", "0123456789");
    put_file("out", "");
    in = (int)MUST(open("in", O_RDWR));
    out = (int)MUST(open("out", O_RDWR));
    MUST(pipe(ends));
    *read_only = 2;
    MUST(mprotect(read_only, PAGE, PROT_READ));
    MUST(mprotect(none, PAGE, PROT_NONE));
    CALL(sendfile(out, in, none, 3));
    CALL(sendfile(out, in, (off_t *)-8L, 3));
    tell_file("out");
    CALL(sendfile(out, in, read_only, 3));
    saved = (int)lseek(out, 0, SEEK_CUR);
    SHOW(saved);
    SHOW(*read_only);
    tell_file("out");
    CALL(sendfile(out, in, none, 0));
    CALL(sendfile(out, 99, none, 3));
    CALL(sendfile(99, in, read_only, 3));
    CALL(copy_file_range(in, none, out, NULL, 3, 0));
    CALL(copy_file_range(in, NULL, out, none, 3, 0));
    CALL(copy_file_range(in, read_only, out, NULL, 3, 0));
    CALL(copy_file_range(99, none, out, NULL, 3, 0));
    tell_file("out");
    CALL(splice(in, none, ends[1], NULL, 3, 0));
    CALL(splice(in, read_only, ends[1], NULL, 3, SPLICE_F_NONBLOCK));
    CALL(splice(ends[0], none, ends[1], NULL, 3, SPLICE_F_NONBLOCK));
    CALL(splice(99, none, ends[1], NULL, 3, SPLICE_F_NONBLOCK));
    return 0;
}
