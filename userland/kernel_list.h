/* Lists of kernels as users type them: "3", "1,3,5-7", "all". */
#ifndef USERLAND_KERNEL_LIST_H
#define USERLAND_KERNEL_LIST_H

#include <stdbool.h>

#define KERNEL_LIST_MAX 64

struct kernel_list {
    int count;
    int kernels[KERNEL_LIST_MAX]; /* in the order typed, none twice */
};

/* Reads one kernel's number: decimal digits and nothing else, 0 to 99999. Does not ask whether the kernel
 * exists. */
bool kernel_number_parse(const char *text, int *kernel);

/* Reads TEXT for a machine of KERNELS kernels. Returns NULL, or what is wrong with the text in words that fit
 * behind "PROGRAM: " and before " in LIST"; OUT is then undefined. */
const char *kernel_list_parse(const char *text, int kernels, struct kernel_list *out);

/* Starts each kernel of LIST in order and stops at the first that fails. NAME is the program's, for the
 * message on standard error; LOUD says each success on standard output. Returns whether all run. */
bool kernel_list_start(const struct kernel_list *list, const char *name, bool loud);

/* Stops the kernels in turn and prints a line for each. False after an error, which has been printed. */
bool kernel_list_stop(const struct kernel_list *list, const char *name);

#endif
