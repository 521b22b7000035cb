/* All rooms of files: how they begin, and what they do for processes. */
#ifndef KERNEL_FILES_H
#define KERNEL_FILES_H

/* Begins them, and fills in what tasks/process asks of files (group_hooks). Once. */
void files_init(void);

#endif
