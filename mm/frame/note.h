/* Who uses which bits of frame_note (mm/frame/frame.h) of a frame that has references. That of a frame of the heap is
 * all the heap's. Inside of the room only. */
#ifndef MM_FRAME_NOTE_H
#define MM_FRAME_NOTE_H

#define NOTE_NAMED 1u       /* object_page.c: the frame's page has a name */
#define NOTE_ABROAD 0xfffeu /* abroad.c: a number */
#define NOTE_ABROAD_SHIFT 1

#endif
