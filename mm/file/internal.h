/* What the files of mm/file share: objects that are held, and questions about them. */
#ifndef MM_FILE_INTERNAL_H
#define MM_FILE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"
#include "mm/file/wire.h"
#include "msg/channel.h"

/* --- hold.c --- */

extern struct spinlock file_hold_lock; /* comes after space->lock */
/* OBJECT has no user any more, and its kernel has not said yet that it has taken it back. */
bool file_hold_returning_locked(uint64_t object);
/* What is known of OBJECT here. */
struct msg_file_held file_hold_tell_locked(uint64_t object);

/* --- ask.c --- */

void file_hold_ask_init(void);
/* OBJECT has been taken back: who waits for that is answered, unless it is being given back again. Without locks. */
void file_hold_answer(uint64_t object);
/* Answers M, a question for OBJECT, now or later. In its handler. */
void file_hold_question(const struct msg *m, uint64_t object);

#endif
