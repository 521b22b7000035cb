/* Waiting for several files at once, on any kernels. Each file's kernel is asked once what is ready; if nothing is, it
 * remembers the files ("arms") and tells when one of them may be, until it is told that the poll is over. Waiting has
 * no effect: it may be given up at any time and begun again. kernel/file/files.md has the protocol. */
#ifndef KERNEL_FILE_EVENT_POLL_H
#define KERNEL_FILE_EVENT_POLL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/file/wire.h"

struct group;

struct poll_request {
    int32_t fd;       /* negative: left out */
    uint32_t events;  /* POLL_* that are asked for; ERR, HUP and NVAL always are */
    uint32_t revents; /* what holds */
};

void poll_init(void);
/* Something may be ready. Any context, without locks. */
void poll_event(struct file_events *events);

/* Who is to be told once the locks are free. */
struct poll_told {
    struct list node;
    void (*tell)(struct poll_told *told);
};

/* Hangs in the list of a file's events. `fire` is called with each event under the lock of polls, takes no lock in
 * which that is taken, and may add to TOLD. */
struct poll_hook {
    struct list node;
    void (*fire)(struct poll_hook *hook, struct list *told);
};

void poll_hook_add(struct file_events *events, struct poll_hook *hook);
/* It fires no more. */
void poll_hook_remove(struct poll_hook *hook);

/* Who has asked for files of any kernels. `ready` is called when they tell, under the lock of tickets; a file that it
 * returns, with a pin, has an event then. */
struct poll_ticket {
    struct list node;
    uint64_t cookie;
    struct file *(*ready)(struct poll_ticket *ticket);
};

/* Gives TICKET a cookie that nobody has had, under which it is told. */
void poll_ticket_begin(struct poll_ticket *ticket);
void poll_ticket_end(struct poll_ticket *ticket);
/* What is ready of MESSAGE's items (behind it), which are of KERNEL; `arm` says whether it tells the cookie once one
 * may be. Returns how many are, or an error. Tasks only, unless KERNEL is this one. */
int64_t poll_look(uint32_t kernel, const struct msg_file_poll *message, struct poll_state *states);
/* KERNEL need not tell COOKIE any more. Any context. */
void poll_disarm(uint32_t kernel, uint64_t cookie);
/* What of EVENTS (and ERR, HUP) holds for FILE of this kernel. */
struct poll_state poll_state_of(struct file *file, uint32_t events);

/* Waits until something of REQUESTS, for GROUP's descriptors, holds, or DEADLINE (clock_now ns, 0: none, 1: do not
 * wait). Returns how many have revents; -ERESTARTSYS: interrupted; -ENOMEM. Tasks only. */
int64_t poll_wait(struct group *group, struct poll_request *requests, uint32_t count, uint64_t deadline);

#endif
