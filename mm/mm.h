/* Initialisation of mm/ on this kernel. */
#ifndef MM_MM_H
#define MM_MM_H

/* Registers the message handlers and boot options of all of mm/, except those of mm/evacuate and mm/audit. Called once,
 * after frame allocation and messages work. */
void mm_init(void);

#endif
