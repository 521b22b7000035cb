/* Messages of a socket that keeps their borders (datagrams, SEQPACKET) and that are longer than what one request
 * carries: they are sent and received piece by piece. The socket keeps what has been sent, or is still to be received,
 * as a draft: kernel/ipc/socket/sockets.md. */
#ifndef KERNEL_CALLS_COMMON_DATAGRAM_H
#define KERNEL_CALLS_COMMON_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/calls/common/spans.h"
#include "kernel/ipc/socket/socket.h"

/* Sends the next TOTAL bytes of SPANS, more than one request carries, as one message, with the files at PLACES. CALL
 * has the destination, and as its `files` 0 as soon as the files belong to the message. Waits for room unless
 * DONT_WAIT. Returns TOTAL, or an error: nothing has been sent. */
int64_t datagram_send(int64_t fd, struct spans *spans, uint64_t total, struct socket_call *call,
                      const struct file_place *places, bool dont_wait);
/* Receives a message to SPANS, at most TOTAL bytes. The file is no stream. Waits for it. Returns how many bytes. */
int64_t datagram_receive(int64_t fd, struct spans *spans, uint64_t total);
/* Receives the bytes from DONE on of the message that FIRST describes, up to TOTAL, to SPANS. Sets DONE to how many
 * there are now. -EFAULT and others: the rest is lost. */
int64_t datagram_rest(int64_t fd, struct spans *spans, const struct socket_result *first, uint64_t total,
                      uint64_t *done);
/* Drops the draft NUMBER, unless that is 0. */
void datagram_drop(int64_t fd, uint64_t number);

#endif
