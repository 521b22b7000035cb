/* The options of this kernel: their values on the boot command line, and the changes that a program makes while the
 * system runs (kettle_control). Each part registers its changeable options with a function that checks a value, so all
 * words of a request are checked before any option is set. */
#ifndef BOOT_OPTIONS_CONTROL_H
#define BOOT_OPTIONS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTION_WORDS_MAX 512u /* bytes of a text, with its NUL */

/* An option that may change. CHECK returns whether VALUE is valid; SET applies a valid value. */
struct option {
    const char *name;
    bool (*check)(const char *value);
    void (*set)(const char *value);
    /* In place of SET, for an option whose change can fail: returns 0, or a negative errno when nothing has changed. */
    int (*try_set)(const char *value);
    struct option *next; /* of the registry */
};

/* Initializes an empty registry for kernel KERNEL of KERNELS with the boot command line CMDLINE, which must stay valid.
 */
void option_start(const char *cmdline, uint32_t kernel, uint32_t kernels);

/* Registers OPTION and sets it to its value on the boot command line, if there is one; kernel 0 logs an invalid value,
 * which is ignored. Returns the result of try_set, or 0. */
int option_add(struct option *option);
/* Returns the index in NAMES of the value of boot option NAME, on behalf of PART of the kernel. A value that is not in
 * NAMES is logged; then, and when the option is missing, the result is 0. */
size_t option_choose(const char *part, const char *name, const char *const *names, size_t count);

/* Sets registered options of this kernel from words "name=value", separated by blanks; if a name occurs several times,
 * its last word counts. With the word "kernel=N" the options are set on kernel N only; other kernels just check them.
 * -EINVAL: an unknown name or an invalid value; -ENOMEM: no memory for the change. On an error nothing has changed.
 * Call it from tasks only: setting an option may take locks that message handlers also take. */
int option_control(const char *words);

#endif
