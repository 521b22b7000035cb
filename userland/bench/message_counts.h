/* How many messages of each type Kettle's kernels have sent, from /proc/kettle/messages. */
#ifndef USERLAND_MESSAGE_COUNTS_H
#define USERLAND_MESSAGE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_COUNTS_MAX 512
#define MESSAGE_NAME_SIZE 40

struct message_counts {
    size_t count;
    struct {
        char name[MESSAGE_NAME_SIZE]; /* "SPACE_FETCH", "SPACE_FETCH.reply" */
        uint64_t sent;                /* by all kernels */
    } rows[MESSAGE_COUNTS_MAX];
};

/* Reads the counts as they are now. Allocates no memory, for that would send messages. False with errno set: there is
 * no Kettle, or more types than fit. */
bool message_counts_read(struct message_counts *counts);

/* Turns NOW into what was sent since BEFORE was read, without what reading sends itself: files and reports. Types that
 * sent nothing are left out. */
void message_counts_since(struct message_counts *now, const struct message_counts *before);

/* Prints {"SPACE_FETCH": 3, "SPACE_FETCH.reply": 3}. */
void message_counts_json(const struct message_counts *counts);

#endif
