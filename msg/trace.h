/* The trace: a bounded buffer of records of every message that this kernel sends and takes, and of notes by other
 * parts. It is off by default. While it is off, msg_put_fast and drain have no code for it, as switching it on closes
 * these fast paths; the other paths test a word. */
#ifndef MSG_TRACE_H
#define MSG_TRACE_H

#include <stdbool.h>
#include <stdint.h>

void trace_init(void);
/* Switches the trace on or off. 0, or -ENOMEM for the records. */
int trace_switch(bool wanted);
void trace_clear(void);
bool trace_is_on(void);

/* Records that a message with HEADER is sent to KERNEL. Under its tx_lock. */
void trace_sent(uint32_t kernel, uint64_t header);
/* Records that a message with HEADER, sent at TIME, was taken after QUEUED ticks and handled in HANDLED ticks. Under
 * rx_lock. */
void trace_taken(uint64_t header, uint64_t time, uint64_t queued, uint64_t handled);

/* Records another event: WHAT (a constant) happened to thread TID, with kernel PEER and two figures. While the trace is
 * off this costs a call and the test of a word. Any context. */
void trace_note(const char *what, uint32_t tid, uint32_t peer, uint64_t first, uint64_t second);

#endif
