/* mkstemp, tmpfile, O_TMPFILE. */
#include "abi.h"

int main(void)
{
    char name[] = "x-XXXXXX", text[8] = "";
    FILE *file;
    int fd = mkstemp(name);
    MUST(fd);
    SHOW(strncmp(name, "x-", 2) == 0 && strcmp(name, "x-XXXXXX") != 0);
    CALL(unlink(name));
    file = tmpfile();
    SHOW(file != NULL);
    if (file != NULL) {
        fputs("text", file);
        rewind(file);
        fgets(text, 8, file);
        TEXT(text);
    }
    fd = (int)CALL(open(".", O_TMPFILE | O_RDWR, 0600) < 0 ? -1 : 0);
    return fd;
}
