/* The beginning of mm/ on this kernel. */
#ifndef MM_MM_H
#define MM_MM_H

/* Registers the message handlers and the options of all rooms of mm/, but those of the evacuation and the audit. Once,
 * when frames and messages work. */
void mm_init(void);

#endif
