/* exec takes thousands of arguments and long ones. */
#include "abi.h"

int main(int argc, char **argv)
{
    static char *arguments[2002], text[100000];
    if (argc > 1) {
        long sum = 0;
        for (int i = 1; i < argc; i++)
            sum += (long)strlen(argv[i]);
        SHOW(argc);
        SHOW(sum);
        return 0;
    }
    memset(text, 'x', sizeof(text) - 1);
    arguments[0] = argv[0];
    for (int i = 1; i < 2001; i++)
        arguments[i] = i == 1000 ? text : "argument";
    execv("/proc/self/exe", arguments);
    MUST(-1);
    return 1;
}
