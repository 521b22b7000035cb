/* Initialization of all file rooms, and the hooks by which processes use them. */
#ifndef KERNEL_FILES_H
#define KERNEL_FILES_H

/* Initializes the file rooms and fills in the file operations that tasks/process calls (group_hooks). Once. */
void files_init(void);

#endif
