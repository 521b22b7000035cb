/* The text of the files in /proc/PID, as in proc(5): `write` functions of rows (kernel/fs/proc/proc.h). */
#ifndef KERNEL_FS_PROC_PROCESS_TEXT_H
#define KERNEL_FS_PROC_PROCESS_TEXT_H

#include "kernel/fs/proc/proc.h"

int64_t proc_write_stat(const struct proc_at *at,
                        struct text *text); /* keys[1] 0: of the process; else of that thread */
int64_t proc_write_status(const struct proc_at *at, struct text *text);
int64_t proc_write_name(const struct proc_at *at, struct text *text);
int64_t proc_write_memory(const struct proc_at *at, struct text *text); /* statm */
int64_t proc_write_maps(const struct proc_at *at, struct text *text);   /* in maps.c */
struct msg_space_area;
typedef void proc_each_area(void *context, const struct msg_space_area *area, const char *name);
/* As maps, but without its LINES unless they are wanted; EACH, or NULL, is called after the line of each area. */
int64_t proc_write_areas(const struct proc_at *at, struct text *text, bool lines, proc_each_area *each, void *context);
int64_t proc_write_io(const struct proc_at *at, struct text *text); /* keys as for proc_write_stat; in io.c */
/* In memory.c: limits, mountinfo, environ, cmdline, smaps. */
int64_t proc_write_limits(const struct proc_at *at, struct text *text);
int64_t proc_write_mounts(const struct proc_at *at, struct text *text);
int64_t proc_write_environment(const struct proc_at *at, struct text *text);
int64_t proc_write_command(const struct proc_at *at, struct text *text);
int64_t proc_write_smaps(const struct proc_at *at, struct text *text);
int64_t proc_write_numa(const struct proc_at *at, struct text *text);
int64_t proc_write_numa_maps(const struct proc_at *at, struct text *text); /* in numa_maps.c */
int64_t proc_write_kettle(const struct proc_at *at, struct text *text);

#endif
