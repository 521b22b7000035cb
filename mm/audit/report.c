/* The report of an audit. See the header. */
#include "mm/audit/report.h"

#include <stdarg.h>
#include <stddef.h>

#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"

#define LINE_MAX 256u

static const char *const rule_texts[] = {
#define RULE(name, text) text,
    AUDIT_RULES
#undef RULE
};

void audit_violation(struct audit_report *report, enum audit_rule rule, const char *format, ...)
{
    char line[LINE_MAX];
    va_list args;
    size_t length;

    report->counts.violations++;
    length = (size_t)snprintf(line, sizeof(line), "%s: ", rule_texts[rule]);
    va_start(args, format);
    length += (size_t)vsnprintf(line + length, sizeof(line) - length, format, args);
    va_end(args);
    if (length > sizeof(line) - 2)
        length = sizeof(line) - 2;
    line[length++] = '\n';
    if (length > report->room - report->length)
        return;
    memcpy(report->text + report->length, line, length);
    report->length += (uint32_t)length;
    report->counts.notified++;
}

void audit_report_add(struct audit_report *report, const struct audit_report *part)
{
    const char *line = part->text, *end = part->text + part->length;

    report->counts.violations += part->counts.violations;
    report->counts.spaces += part->counts.spaces;
    report->counts.areas += part->counts.areas;
    report->counts.entries += part->counts.entries;
    report->counts.pages += part->counts.pages;
    report->counts.frames += part->counts.frames;
    while (line < end) { /* whole lines only */
        const char *next = line;

        while (next < end && *next != '\n')
            next++;
        next += next < end ? 1 : 0;
        if ((uint64_t)(next - line) > report->room - report->length)
            break;
        memcpy(report->text + report->length, line, (size_t)(next - line));
        report->length += (uint32_t)(next - line);
        report->counts.notified++;
        line = next;
    }
}
