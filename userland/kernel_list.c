/* Lists of kernels as users type them. userland/kernel_list.h is the contract. */
#include "userland/kernel_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "libc/kettle.h"

#define NUMBER_LIMIT 99999

/* Reads digits at *CURSOR and moves it behind them. */
static bool digits_parse(const char **cursor, int *number)
{
    const char *text = *cursor;
    int value = 0;

    if (*text < '0' || *text > '9')
        return false;
    while (*text >= '0' && *text <= '9') {
        value = value * 10 + (*text++ - '0');
        if (value > NUMBER_LIMIT)
            return false;
    }
    *cursor = text;
    *number = value;
    return true;
}

bool kernel_number_parse(const char *text, int *kernel)
{
    return digits_parse(&text, kernel) && *text == '\0';
}

static bool list_has(const struct kernel_list *list, int kernel)
{
    for (int i = 0; i < list->count; i++) {
        if (list->kernels[i] == kernel)
            return true;
    }
    return false;
}

static const char *list_add(struct kernel_list *list, int first, int last, int kernels)
{
    if (last >= kernels)
        return "no such kernel";
    for (int kernel = first; kernel <= last; kernel++) {
        if (list_has(list, kernel))
            return "a kernel twice";
        if (list->count == KERNEL_LIST_MAX)
            return "too many kernels";
        list->kernels[list->count++] = kernel;
    }
    return NULL;
}

const char *kernel_list_parse(const char *text, int kernels, struct kernel_list *out)
{
    out->count = 0;
    if (strcmp(text, "all") == 0)
        return list_add(out, 0, kernels - 1, kernels);
    for (;;) {
        const char *error;
        int first;
        int last;

        if (!digits_parse(&text, &first))
            return "not a number";
        last = first;
        if (*text == '-') {
            text++;
            if (!digits_parse(&text, &last) || last < first)
                return "not a range";
        }
        error = list_add(out, first, last, kernels);
        if (error != NULL)
            return error;
        if (*text == '\0')
            return NULL;
        if (*text++ != ',')
            return "not a list";
    }
}

static double now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

bool kernel_list_start(const struct kernel_list *list, const char *name, bool loud)
{
    for (int i = 0; i < list->count; i++) {
        int kernel = list->kernels[i];
        int started = kettle_started(kernel);
        double begin = now_ms();

        if (kettle_start(kernel) != 0) {
            fprintf(stderr, "%s: cannot start kernel %d: %s\n", name, kernel, strerror(errno));
            return false;
        }
        if (loud && started == 1)
            printf("kernel %d ran already\n", kernel);
        else if (loud)
            printf("kernel %d started in %.1f ms\n", kernel, now_ms() - begin);
    }
    return true;
}

bool kernel_list_stop(const struct kernel_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++) {
        int kernel = list->kernels[i];
        int started = kettle_started(kernel);
        double begin = now_ms();

        if (kettle_stop(kernel) != 0) {
            fprintf(stderr, "%s: cannot stop kernel %d: %s\n", name, kernel, strerror(errno));
            return false;
        }
        if (started == 1)
            printf("kernel %d stopped in %.1f ms\n", kernel, now_ms() - begin);
        else
            printf("kernel %d did not run\n", kernel);
    }
    return true;
}
