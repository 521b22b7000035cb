/* Diagnosis of a hang: whom this kernel suspects, its unanswered requests, the requests that it keeps, and the messages
 * in its rings and queues. */
#ifndef MSG_WAIT_DUMP_H
#define MSG_WAIT_DUMP_H

/* Writes them to the log. Takes no lock, because a CPU may hang with it: what changes meanwhile may be missing or
 * wrong, and lists are cut off at some length. Any context. */
void msg_wait_dump(void);

/* Its parts: the unanswered requests, and the kept ones. */
#define MSG_DUMP_MAX 64u /* lines */
void msg_dump_asked(void);
void msg_dump_kept(void);

#endif
