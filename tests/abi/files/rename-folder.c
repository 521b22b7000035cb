/* Folders are renamed with what is in them, over empty ones only. */
#include "abi.h"

int main(void)
{
    MUST(mkdir("a", 0755));
    MUST(mkdir("empty", 0755));
    MUST(mkdir("full", 0755));
    put_file("a/file", "in a");
    put_file("full/file", "in full");
    CALL(rename("a", "full"));
    CALL(rename("a", "a/below"));
    CALL(rename("a", "full/file"));
    CALL(rename("full/file", "empty"));
    CALL(rename("a", "empty"));
    tell_file("empty/file");
    tell_file("a/file");
    CALL(rename("empty", "full/moved"));
    tell_file("full/moved/file");
    return 0;
}
