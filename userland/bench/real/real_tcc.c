/* A build by the compiler tcc: a hundred C files, as many at once as there are to be threads, as make -j does, and the
 * linking of them. It is right if the program that was built prints the sum that this one has computed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userland/bench/real/realbench.h"

#define FILES 100
#define FUNCTIONS 20 /* of a file */
#define PATH_MOST 256

static const char function_text[] = "static unsigned step_%d(unsigned value)\n"
                                    "{\n"
                                    "    char text[64];\n"
                                    "\n"
                                    "    snprintf(text, sizeof(text), \"%%u\", value + %d);\n"
                                    "    for (size_t i = 0; i < strlen(text); i++)\n"
                                    "        value = value * 31 + (unsigned char)text[i];\n"
                                    "    return value;\n"
                                    "}\n\n";

/* What step_N of the built program computes. */
static unsigned step(unsigned value, int number)
{
    char text[64];

    snprintf(text, sizeof(text), "%u", value + (unsigned)number);
    for (size_t i = 0; i < strlen(text); i++)
        value = value * 31 + (unsigned char)text[i];
    return value;
}

static unsigned file_sum(unsigned value, int file)
{
    for (int function = 0; function < FUNCTIONS; function++)
        value = step(value, file * FUNCTIONS + function);
    return value;
}

static bool file_make(int file)
{
    char path[PATH_MOST];
    FILE *to;

    snprintf(path, sizeof(path), "part%d.c", file);
    to = fopen(path, "w");
    if (to == NULL)
        return false;
    fputs("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n", to);
    for (int function = 0; function < FUNCTIONS; function++) {
        int number = file * FUNCTIONS + function;

        fprintf(to, function_text, number, number);
    }
    fprintf(to, "unsigned part%d(unsigned value)\n{\n", file);
    for (int function = 0; function < FUNCTIONS; function++)
        fprintf(to, "    value = step_%d(value);\n", file * FUNCTIONS + function);
    fputs("    return value;\n}\n", to);
    return fclose(to) == 0;
}

static bool setup(const struct real_plan *plan)
{
    FILE *to = fopen("main.c", "w");

    (void)plan;
    if (to == NULL)
        return false;
    fputs("#include <stdio.h>\n\n", to);
    for (int file = 0; file < FILES; file++)
        fprintf(to, "unsigned part%d(unsigned value);\n", file);
    fputs("\nint main(void)\n{\n    unsigned value = 1;\n\n", to);
    for (int file = 0; file < FILES; file++)
        fprintf(to, "    value = part%d(value);\n", file);
    fputs("    printf(\"%u\\n\", value);\n    return 0;\n}\n", to);
    if (fclose(to) != 0)
        return false;
    for (int file = 0; file < FILES; file++) {
        if (!file_make(file))
            return false;
    }
    return true;
}

/* Starts the compiler on part FILE, or on main.c for FILES. */
static bool compile(char *compiler, int file)
{
    char from[PATH_MOST];
    char to[PATH_MOST];

    if (file < FILES) {
        snprintf(from, sizeof(from), "part%d.c", file);
        snprintf(to, sizeof(to), "part%d.o", file);
    } else {
        strcpy(from, "main.c");
        strcpy(to, "main.o");
    }
    return real_start((char *[]){compiler, "-c", from, "-o", to, NULL}, NULL) > 0;
}

static bool run(const struct real_plan *plan)
{
    char compiler[PATH_MOST];
    static char objects[FILES + 1][PATH_MOST];
    char *link[FILES + 6] = {compiler, "-static", "-o", "program"};
    int running = 0;

    snprintf(compiler, sizeof(compiler), "%s/tcc/tcc", plan->tools);
    for (int file = 0; file <= FILES; file++) {
        if (running == plan->threads) {
            if (!real_wait(-1))
                return false;
            running--;
        }
        if (!compile(compiler, file))
            return false;
        running++;
        snprintf(objects[file], PATH_MOST, file < FILES ? "part%d.o" : "main.o", file);
        link[4 + file] = objects[file];
    }
    for (; running > 0; running--) {
        if (!real_wait(-1))
            return false;
    }
    return real_run(link, NULL);
}

static bool verify(const struct real_plan *plan)
{
    unsigned value = 1;
    unsigned found;
    FILE *file;
    bool same;

    (void)plan;
    for (int i = 0; i < FILES; i++)
        value = file_sum(value, i);
    if (!real_run((char *[]){"./program", NULL}, "sum"))
        return false;
    file = fopen("sum", "r");
    if (file == NULL)
        return false;
    same = fscanf(file, "%u", &found) == 1 && found == value;
    fclose(file);
    return same;
}

const struct real_case real_tcc = {"tcc", "a hundred C files, as make -j builds them, and their program", setup, run,
                                   verify};
