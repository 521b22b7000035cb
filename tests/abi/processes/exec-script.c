/* A script is run by the interpreter of its first line. */
#include "abi.h"

int main(int argc, char **argv)
{
    char text[300];
    char *arguments[] = {"script-name", "last", NULL};
    if (argc > 1) {
        for (int i = 1; i < argc; i++)
            printf("argv[%d] = \"%s\"\n", i, argv[i]);
        return 0;
    }
    MUST(symlink("/proc/self/exe", argv[0]));
    snprintf(text, sizeof(text), "#!  %s  a b \nrest\n", "/proc/self/exe");
    put_file("script", text);
    MUST(chmod("script", 0755));
    CALL(execv("script", arguments));
    return 1;
}
