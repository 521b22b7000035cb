/* Linked lists. */
#include "kernel/lib/list.h"

#include "tests/test.h"

struct object {
    int number;
    struct list node;
};

static struct list head;
static struct object objects[8];

static void begin(void)
{
    list_init(&head);
    for (int i = 0; i < 8; i++) {
        objects[i].number = i;
        list_init(&objects[i].node);
    }
}

/* The list holds exactly the objects whose digits TEXT has, in this order, and reads the same backwards. */
static void check(const char *text)
{
    const struct list *back = head.previous;
    char seen[16] = "";
    size_t count = 0;

    list_for_each(node, &head) {
        CHECK(count < 8);
        CHECK(node->next->previous == node && node->previous->next == node);
        seen[count++] = (char)('0' + container_of(node, struct object, node)->number);
    }
    CHECK_TEXT(seen, text);
    for (; back != &head; back = back->previous) {
        CHECK(count > 0);
        CHECK_EQ(container_of(back, const struct object, node)->number, seen[--count] - '0');
    }
    CHECK_EQ(count, 0);
    CHECK_EQ(list_empty(&head), text[0] == '\0');
}

TEST(list_ends, "append adds behind the last, prepend before the first, insert_before where it is told")
{
    begin();
    check("");
    list_append(&head, &objects[1].node);
    list_append(&head, &objects[2].node);
    check("12");
    list_prepend(&head, &objects[0].node);
    check("012");
    list_insert_before(&objects[5].node, &objects[2].node);
    check("0152");
    list_insert_before(&objects[6].node, &head);
    check("01526");
}

TEST(list_removal, "remove takes a node from anywhere, and once more is harmless")
{
    begin();
    for (int i = 0; i < 4; i++)
        list_append(&head, &objects[i].node);
    list_remove(&objects[2].node);
    check("013");
    list_insert_before(&objects[5].node, &objects[3].node); /* where the removed one was */
    list_remove(&objects[2].node);
    check("0153");
    list_remove(&objects[5].node);
    list_remove(&objects[0].node);
    list_remove(&objects[3].node);
    check("1");
    list_remove(&objects[1].node);
    check("");
    list_append(&head, &objects[2].node);
    check("2");
}

TEST(list_safe, "the safe loop goes on when its body removes the node, every one or some")
{
    int seen = 0;

    begin();
    for (int i = 0; i < 8; i++)
        list_append(&head, &objects[i].node);
    list_for_each_safe(node, &head) {
        CHECK_EQ(container_of(node, struct object, node)->number, seen++);
        if (seen % 2 == 0)
            list_remove(node);
    }
    CHECK_EQ(seen, 8);
    check("0246");
    list_for_each_safe(node, &head)
        list_remove(node);
    check("");
}

TEST(list_random, "random insertions and removals agree with a string")
{
    uint64_t state = 1;
    char text[16] = "";

    begin();
    for (int step = 0; step < 20000; step++) {
        int which = (int)test_below(&state, 8);
        char digit[2] = {(char)('0' + which), '\0'};
        char *at = strchr(text, digit[0]);
        size_t length = strlen(text);

        if (at != NULL) {
            list_remove(&objects[which].node);
            memmove(at, at + 1, strlen(at));
        } else if (length > 0 && test_below(&state, 3) == 0) {
            size_t before = (size_t)test_below(&state, length);

            list_insert_before(&objects[which].node, &objects[text[before] - '0'].node);
            memmove(text + before + 1, text + before, length - before + 1);
            text[before] = digit[0];
        } else if (test_below(&state, 2) == 0) {
            list_append(&head, &objects[which].node);
            strcat(text, digit);
        } else {
            list_prepend(&head, &objects[which].node);
            memmove(text + 1, text, length + 1);
            text[0] = digit[0];
        }
        check(text);
    }
}
