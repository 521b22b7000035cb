/* exec passes arguments and environment on. */
#include "abi.h"

extern char **environ;
int main(int argc, char **argv)
{
    char *arguments[] = {argv[0], "one", "", "three and more", NULL};
    char *environment[] = {"A=1", "EMPTY=", "B=two words", NULL};
    if (argc == 1) {
        execve("/proc/self/exe", arguments, environment);
        MUST(-1);
    }
    for (int i = 1; i < argc; i++)
        printf("argv[%d] = \"%s\"\n", i, argv[i]);
    for (char **e = environ; *e != NULL; e++)
        printf("\"%s\"\n", *e);
    TEXT(getenv("B"));
    SHOW(argv[argc] == NULL);
    return 0;
}
