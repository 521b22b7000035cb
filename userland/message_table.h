/* /proc/kettle/messages as tables for people. */
#ifndef USERLAND_MESSAGE_TABLE_H
#define USERLAND_MESSAGE_TABLE_H

/* Prints TEXT, the whole file, a table of types, of rings and a line of totals for each kernel. Lines that it does not
 * know are printed as they are. */
void message_table_print(const char *text);

#endif
