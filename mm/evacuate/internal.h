/* Declarations that the files of mm/evacuate share: payloads (85 to 87 in msg/messages.def), and functions of
 * receive.c. */
#ifndef MM_EVACUATE_INTERNAL_H
#define MM_EVACUATE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

struct msg_evacuate {
    uint64_t space;   /* EVACUATE_ENTRIES: its id */
    uint64_t at;      /* EVACUATE_PAIRS: how many were in earlier messages */
    uint64_t total;   /* EVACUATE_PAIRS: how many there are in all messages */
    uint32_t count;   /* the number of elements that follow */
    uint32_t prepare; /* EVACUATE_ENTRIES: 1: only make room */
};

struct shared_frame { /* EVACUATE_FRAMES; the answer is the copy of each, as uint64_t */
    uint64_t frame, spaces;
};

struct frame_pair { /* EVACUATE_PAIRS; ascending */
    uint64_t old, new;
};

struct moved_entry { /* EVACUATE_ENTRIES */
    uint64_t page;
    uint64_t entry; /* as in the sender's page table */
};

/* The most in one message, which a handler serves. */
#define FRAMES_MAX 64u
#define ENTRIES_MAX 128u
#define PAIRS_MAX 1024u

/* Keeps these pairs of TOTAL ones, which come in their order from AT on, until the switch. -ENOMEM; -EPROTO: they are
 * not the next ones. */
int evacuate_keep_pairs(const struct frame_pair *some, uint32_t count, uint64_t at, uint64_t total);
/* The successor: frees the bookkeeping of copies and staged spaces and, with UNDO, also the copies themselves. Spaces
 * that evacuate_commit has not published are destroyed. */
void evacuate_drop_staged(bool undo);

#endif
