/* The pages [vvar] and [vdso], which every program maps, and the time of day, which every kernel knows:
 * kernel/vdso/time.md. The pages are an object of kernel 0 (BACKING_VDSO), mapped and fetched like pages of files. */
#ifndef KERNEL_VDSO_PAGES_H
#define KERNEL_VDSO_PAGES_H

#include <stdint.h>

void vdso_init(void);
/* On kernel 0: the frame of page 0 (data) or 1 (code) of the object, with a reference for the caller. -ENXIO: any other
 * page; -ENOMEM. Never waits. */
int vdso_page(uint64_t page, uint64_t *frame);
/* Calls EACH for those of the two frames that exist. Programs are quiesced. */
void vdso_each(void (*each)(uint64_t frame, void *context), void *context);
/* The name of the page in /proc/PID/maps. */
const char *vdso_name(uint64_t page);
/* Sets the time of day: from now on it is clock_now plus EPOCH ns, on all running kernels. -ENOMEM. Waits for them. */
int time_set(uint64_t epoch);

#endif
