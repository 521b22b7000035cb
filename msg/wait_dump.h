/* For a hang: what this kernel has asked others and has no answer to, what it keeps for them, and what lies in rings
 * and queues. */
#ifndef MSG_WAIT_DUMP_H
#define MSG_WAIT_DUMP_H

/* Takes no lock, for a CPU may hang with it: what changes meanwhile may be left out or said wrongly, and lists are cut
 * at some length. Any context. */
void msg_wait_dump(void);

/* Its parts: requests in the table of those not yet answered, and those that are kept. */
#define MSG_DUMP_MAX 64u /* lines */
void msg_dump_asked(void);
void msg_dump_kept(void);

#endif
