/* The options of this kernel: what the boot command line says at the start, and what a program changes while the system
 * runs (kettle_control). A part registers each option that may change, with a check of its value, so a text of several
 * words is understood as a whole before anything is set. */
#ifndef BOOT_OPTIONS_CONTROL_H
#define BOOT_OPTIONS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTION_WORDS_MAX 512u /* bytes of a text, with its NUL */

/* An option that may change. CHECK says whether VALUE makes sense, SET takes one that does. */
struct option {
    const char *name;
    bool (*check)(const char *value);
    void (*set)(const char *value);
    /* In place of SET, for the one option that can fail: 0 or a negative errno, and then nothing has changed. */
    int (*try_set)(const char *value);
    struct option *next; /* of the registry */
};

/* This is kernel KERNEL of KERNELS, and CMDLINE, which stays, is the boot command line. No option is registered. */
void option_start(const char *cmdline, uint32_t kernel, uint32_t kernels);

/* Registers OPTION and sets it to what the boot command line says, if that makes sense; else kernel 0 says so. What
 * try_set has returned, or 0. */
int option_add(struct option *option);
/* Which of COUNT names the boot option NAME has, for PART of the kernel. Another value is said, and it and none mean
 * the first. */
size_t option_choose(const char *part, const char *name, const char *const *names, size_t count);

/* Sets options of this kernel, as registered: words "name=value", separated by blanks; the last of a name counts. With
 * "kernel=N" among them they are for that kernel alone, and on others only checked. -EINVAL: a word makes no sense;
 * -ENOMEM: no memory for what it takes. On an error nothing has changed. Tasks only: what options do may take locks
 * that handlers run under. */
int option_control(const char *words);

#endif
