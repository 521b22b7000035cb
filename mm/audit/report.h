/* The report of an audit: counters, and a line of text for each violation, as many as fit. Contains no hardware access.
 * mm/audit/audit.md explains the rules. */
#ifndef MM_AUDIT_REPORT_H
#define MM_AUDIT_REPORT_H

#include <stdint.h>

/* RULE(name, beginning of the line): R as numbered in the Popcorn thesis, 5.7.1; the others are Kettle's own. */
#define AUDIT_RULES                                                                                                    \
    RULE(FRAME, "R1 one frame")                                                                                        \
    RULE(PROTECTION, "R2 protection")                                                                                  \
    RULE(BACKING, "R3 backing")                                                                                        \
    RULE(SPECIAL, "R4 copy-on-write")                                                                                  \
    RULE(AREA, "R5 area")                                                                                              \
    RULE(OWNED, "owned once")                                                                                          \
    RULE(HOME, "known at home")                                                                                        \
    RULE(MARK, "marked at home")                                                                                       \
    RULE(PENDING_FREE, "no pending free")                                                                              \
    RULE(REMOTE, "remote mark")                                                                                        \
    RULE(OWNER, "whose memory")                                                                                        \
    RULE(OUTSIDE, "inside an area")                                                                                    \
    RULE(VIEW, "order of a view")                                                                                      \
    RULE(MEMORY, "own memory")                                                                                         \
    RULE(TABLE, "page tables")                                                                                         \
    RULE(USE, "frame in use")                                                                                          \
    RULE(COUNT, "count of a frame")                                                                                    \
    RULE(ABROAD, "references abroad")                                                                                  \
    RULE(SHARE, "private frame")                                                                                       \
    RULE(SPACE, "space")                                                                                               \
    RULE(OPENS, "opens of a file")                                                                                     \
    RULE(GRANTS, "grants of an object")

enum audit_rule {
#define RULE(name, text) AUDIT_##name,
    AUDIT_RULES
#undef RULE
        AUDIT_RULE_COUNT
};

struct audit_counts {
    uint64_t violations;
    uint64_t notified; /* violations that have a line in the text */
    uint64_t spaces;   /* checked */
    uint64_t areas;    /* sum over all kernels */
    uint64_t entries;  /* of page tables; sum over all kernels */
    uint64_t pages;    /* that at least one kernel maps */
    uint64_t frames;   /* that at least one space has, by the count of their owners */
};

/* In messages, LENGTH bytes of text follow. */
struct audit_report {
    struct audit_counts counts;
    uint32_t length; /* of the text, without a NUL behind it */
    uint32_t room;   /* [i] bytes of the text */
    char text[];
};

/* Adds a violation of RULE, explained by a line of text. */
void audit_violation(struct audit_report *report, enum audit_rule rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds the counters and lines of PART, the report of a part of the audit. */
void audit_report_add(struct audit_report *report, const struct audit_report *part);

#endif
