/* echo-stdin: copies its input to its output byte for byte, until the end of the input or a line that says
 * "end" (a serial line never ends by itself). */
#include <stdio.h>
#include <string.h>

#include "userland/help.h"

static bool line_is_end(const char *line, size_t length)
{
    return strcspn(line, "\r\n") == 3 && memcmp(line, "end", 3) == 0 && length <= 5;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    if (help_asked(argc, argv, "usage: echo-stdin\n\nCopies lines until the end of the input or a line \"end\".\n"))
        return 0;
    while ((length = getline(&line, &room, stdin)) > 0 && !line_is_end(line, (size_t)length)) {
        fwrite(line, 1, (size_t)length, stdout);
        fflush(stdout);
    }
    if (ferror(stdin) || ferror(stdout)) {
        perror("echo-stdin: cannot copy");
        return 1;
    }
    return 0;
}
