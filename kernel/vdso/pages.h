/* The pages [vvar] and [vdso], which every program has, and the time of day, which every kernel knows:
 * kernel/vdso/time.md. The pages are an object of kernel 0 (BACKING_VDSO), mapped and fetched as pages of files are. */
#ifndef KERNEL_VDSO_PAGES_H
#define KERNEL_VDSO_PAGES_H

#include <stdint.h>

void vdso_init(void);
/* Kernel 0: the frame of page 0 (data) or 1 (code) of the object, with one reference counted, the caller's. -ENXIO:
 * there are no others; -ENOMEM. Never waits. */
int vdso_page(uint64_t page, uint64_t *frame);
/* Calls EACH for both frames, if they are there. Programs are quiesced. */
void vdso_each(void (*each)(uint64_t frame, void *context), void *context);
/* The name of the page in /proc/PID/maps. */
const char *vdso_name(uint64_t page);
/* The time of day is EPOCH ns more than clock_now from now on, on all kernels that run. -ENOMEM. Waits for them. */
int time_set(uint64_t epoch);

#endif
