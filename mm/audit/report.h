/* What an audit found: counts, and a line of text for each violation, as many as there is room for. Free of hardware.
 * mm/audit/audit.md says what the rules are. */
#ifndef MM_AUDIT_REPORT_H
#define MM_AUDIT_REPORT_H

#include <stdint.h>

/* RULE(name, what a line begins with): R as numbered in the Popcorn thesis, 5.7.1; the others are Kettle's own. */
#define AUDIT_RULES                                                                                                    \
    RULE(FRAME, "R1 one frame")                                                                                        \
    RULE(PROTECTION, "R2 protection")                                                                                  \
    RULE(BACKING, "R3 backing")                                                                                        \
    RULE(SPECIAL, "R4 copy-on-write")                                                                                  \
    RULE(AREA, "R5 area")                                                                                              \
    RULE(OWNED, "owned once")                                                                                          \
    RULE(HOME, "known at home")                                                                                        \
    RULE(PENDING_FREE, "no pending free")                                                                              \
    RULE(REMOTE, "remote mark")                                                                                        \
    RULE(OUTSIDE, "inside an area")                                                                                    \
    RULE(VIEW, "order of a view")                                                                                      \
    RULE(MEMORY, "own memory")                                                                                         \
    RULE(TABLE, "page tables")                                                                                         \
    RULE(USE, "frame in use")                                                                                          \
    RULE(COUNT, "count of a frame")                                                                                    \
    RULE(SHARE, "private frame")                                                                                       \
    RULE(SPACE, "space")

enum audit_rule {
#define RULE(name, text) AUDIT_##name,
    AUDIT_RULES
#undef RULE
        AUDIT_RULE_COUNT
};

struct audit_counts {
    uint64_t violations;
    uint64_t told;    /* of these, the lines that the text has */
    uint64_t spaces;  /* looked at */
    uint64_t areas;   /* of all kernels */
    uint64_t entries; /* of page tables, of all kernels */
    uint64_t pages;   /* that some kernel has */
    uint64_t frames;  /* that some space has, looked up at their owners */
};

/* As it travels: LENGTH bytes of text follow. */
struct audit_report {
    struct audit_counts counts;
    uint32_t length; /* of the text, without a NUL behind it */
    uint32_t room;   /* [i] bytes of the text */
    char text[];
};

/* One violation of RULE more, explained by a line. */
void audit_violation(struct audit_report *report, enum audit_rule rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What a part of the audit has found counts for the whole; PART's text has PART->length bytes. */
void audit_report_add(struct audit_report *report, const struct audit_report *part);

#endif
