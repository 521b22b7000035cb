/* A record of every message that this kernel sends and takes, and of what other parts note, in a ring of bounded size.
 * Off by default, and then free: the short ways through msg_put and msg_poll do not know of it. */
#ifndef MSG_TRACE_H
#define MSG_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_RECORDS_DEFAULT 4096u

void trace_init(void);
/* 0, or -ENOMEM for the records. */
int trace_switch(bool wanted);
void trace_clear(void);
bool trace_is_on(void);

/* HEADER goes to KERNEL. Under its tx_lock. */
void trace_sent(uint32_t kernel, uint64_t header);
/* HEADER came, sent at TIME, was taken QUEUED ticks later and handled for HANDLED ticks. Under rx_lock. */
void trace_taken(uint64_t header, uint64_t time, uint64_t queued, uint64_t handled);

/* Something else that happened: WHAT (a constant) about the thread TID and the kernel PEER, with two figures. Costs a
 * look at a word while the trace is off. Any context. */
void trace_note(const char *what, uint32_t tid, uint32_t peer, uint64_t first, uint64_t second);

#endif
