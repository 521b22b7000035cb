/* The options of this kernel: their values on the boot command line, and the changes that a program makes while the
 * system runs (kettle_control). Each part registers its changeable options. All words of a request are checked before
 * any option is set. */
#ifndef BOOT_OPTIONS_CONTROL_H
#define BOOT_OPTIONS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTION_WORDS_MAX 512u /* bytes of a text, with its NUL */

/* An option that may change. SET applies a valid value. */
struct option {
    const char *name;
    /* Returns whether VALUE, which the option's row allows, is valid on this machine. NULL: every such value is. */
    bool (*check)(const char *value);
    void (*set)(const char *value);
    /* In place of SET, for an option whose change can fail: returns 0, or a negative errno when nothing has changed. */
    int (*try_set)(const char *value);
    struct option *next; /* of the registry */
};

/* Initializes an empty registry for kernel KERNEL of KERNELS with the boot command line CMDLINE, which must stay valid.
 * Kernel 0 logs an event for each word that has no effect, "@option unknown option 'NAME'" or "@option invalid
 * NAME='VALUE'; using DEFAULT (VALUES)", which the host shows. */
void option_start(const char *cmdline, uint32_t kernel, uint32_t kernels);

/* Registers OPTION, which has a row in options.def, and sets it to its value on the boot command line, or to its
 * default if there is no valid one; kernel 0 logs a value that CHECK refuses. Returns the result of try_set, or 0. */
int option_add(struct option *option);

/* Sets registered options of this kernel from words "name=value", separated by blanks; if a name occurs several times,
 * its last word counts. With the word "kernel=N" the options are set on kernel N only; other kernels just check them.
 * -EINVAL: an unknown name or an invalid value; -ENOMEM: no memory for the change. On an error nothing has changed.
 * Call it from tasks only: setting an option may take locks that message handlers also take. */
int option_control(const char *words);

#endif
