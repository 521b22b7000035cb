/* Reports of accesses on their way to the home of their spaces, through relays: mm/seen/gather.md. */
#ifndef MM_SEEN_GATHER_H
#define MM_SEEN_GATHER_H

#include <stdint.h>

#include "mm/seen/wire.h"

/* Sends the COUNT reports SEEN, at most SEEN_REPORTS, of spaces whose home HOME is, and waits until they have been
 * noted there or are lost. *ANSWER: the home's; nothing of reports that are lost. The caller holds no reference to a
 * space, whose end would spin for it. Tasks only. */
void gather_report(uint32_t home, const struct msg_space_seen *seen, uint32_t count, struct msg_seen_answer *answer);

/* The home's part: notes the report SEEN; *ANSWER: bit 0 of each. One of a space that is not at home here, or a wrong
 * one, is left out. Does not wait. Registered once. */
typedef void gather_note(const struct msg_space_seen *seen, struct msg_seen_answer *answer);
void gather_init(gather_note *note);

#endif
