/* Declarations that the files of mm/file share: holds, and queries about them. */
#ifndef MM_FILE_INTERNAL_H
#define MM_FILE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"
#include "mm/file/wire.h"
#include "msg/channel.h"

/* --- hold.c --- */

extern struct spinlock file_hold_lock; /* comes after space->lock */
/* True while the object's kernel has not confirmed that it has taken grants of OBJECT back. */
bool file_hold_returning_locked(uint64_t object);
/* What this kernel knows about OBJECT. */
struct msg_file_held file_hold_notify_locked(uint64_t object);

/* --- ask.c --- */

void file_hold_ask_init(void);
/* Answers the deferred queries for OBJECT, whose grants have been taken back, unless it is being given back again. The
 * caller holds no lock. */
void file_hold_answer(uint64_t object);
/* Answers M, a query for OBJECT, now or later. Called by its handler. */
void file_hold_question(const struct msg *m, uint64_t object);

#endif
