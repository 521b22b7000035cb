/* --help for programs whose whole interface fits in one text. */
#ifndef USERLAND_HELP_H
#define USERLAND_HELP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* True when the first argument asks for help, after printing TEXT; the program then exits with 0. */
static inline bool help_asked(int argc, char **argv, const char *text)
{
    if (argc < 2 || (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0))
        return false;
    fputs(text, stdout);
    return true;
}

#endif
