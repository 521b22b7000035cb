/* The boot option share=.
 * sources: kernel/fs/share/option.c */
#include "kernel/fs/share/option.h"

#include "tests/test.h"

TEST(share_parts, "parts are a tag, a directory, and perhaps ro, between commas")
{
    const char *text = "kettle0:/mnt,kettle1:/data/in:ro";
    struct share_option option;

    CHECK_EQ(share_option_next(&text, &option), 1);
    CHECK(strcmp(option.tag, "kettle0") == 0 && strcmp(option.directory, "/mnt") == 0 && !option.read_only);
    CHECK_EQ(share_option_next(&text, &option), 1);
    CHECK(strcmp(option.tag, "kettle1") == 0 && strcmp(option.directory, "/data/in") == 0 && option.read_only);
    CHECK_EQ(share_option_next(&text, &option), 0);
}

TEST(share_wrong_parts, "a part that makes no sense is said, and the next is read")
{
    static const char *const wrong[] = {"",
                                        "kettle0",
                                        ":/mnt",
                                        "kettle0:",
                                        "kettle0:mnt",
                                        "kettle0:/mnt:rw",
                                        "kettle0:/mnt:",
                                        "kettle0:/mnt:ro:",
                                        "0123456789012345678901234567890123456789:/mnt"};
    struct share_option option;
    char line[128];

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *text = line;

        snprintf(line, sizeof(line), "%s,a:/b", wrong[i]);
        CHECK_EQ(share_option_next(&text, &option), -1);
        CHECK_EQ(option.tag[0], 0);
        CHECK_EQ(share_option_next(&text, &option), 1);
        CHECK(strcmp(option.tag, "a") == 0);
        CHECK_EQ(share_option_next(&text, &option), 0);
    }
}

TEST(share_long_directory, "a directory that has no room makes no sense")
{
    struct share_option option;
    char line[SHARE_DIRECTORY_MAX + 3] = "t:/";
    const char *text = line;

    memset(line + 3, 'x', SHARE_DIRECTORY_MAX - 2); /* with the slash, 127 bytes */
    CHECK_EQ(share_option_next(&text, &option), 1);
    CHECK_EQ(strlen(option.directory), SHARE_DIRECTORY_MAX - 1);
    line[SHARE_DIRECTORY_MAX + 1] = 'x';
    text = line;
    CHECK_EQ(share_option_next(&text, &option), -1);
}
