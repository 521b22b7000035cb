/* Dates of times, without and with a zone. */
#include "abi.h"

int main(void)
{
    struct tm date;
    char text[64];
    time_t time = 1700000000;
    gmtime_r(&time, &date);
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %a %j", &date);
    TEXT(text);
    setenv("TZ", "ABC-2", 1);
    tzset();
    localtime_r(&time, &date);
    strftime(text, sizeof(text), "%F %T %Z", &date);
    TEXT(text);
    SHOW(mktime(&date));
    return 0;
}
