/* A file through stdio: lines, positions, modes, formats. */
#include "abi.h"

int main(void)
{
    char line[64];
    int number;
    FILE *file = fopen("a", "w+");
    MUST(file == NULL ? -1 : 0);
    fprintf(file, "first %d\nsecond %.3f\nthird %s\n", 1, 2.5, "word");
    SHOW(ftell(file));
    rewind(file);
    fgets(line, sizeof(line), file);
    printf("%s", line);
    SHOW(ftell(file));
    fscanf(file, "second %d", &number);
    SHOW(number);
    fseek(file, -5, SEEK_END);
    fgets(line, sizeof(line), file);
    printf("%s", line);
    SHOW(fgetc(file));
    SHOW(feof(file) != 0);
    fclose(file);
    file = fopen("a", "a");
    fputs("fourth\n", file);
    fclose(file);
    file = fopen("a", "r");
    for (number = 0; fgets(line, sizeof(line), file) != NULL;)
        number++;
    SHOW(number);
    SHOW(fopen("none", "r") == NULL);
    return 0;
}
