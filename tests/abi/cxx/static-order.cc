// Objects of a function are made at its first call, and destroyed last first.
#include "abi.h"

struct noisy {
    const char *name;
    explicit noisy(const char *n) : name(n) { printf("make %s\n", name); }
    ~noisy() { printf("destroy %s\n", name); }
};
static void use(bool second)
{
    static noisy a("a");
    if (second)
        static noisy b("b");
}
static void last() { printf("atexit\n"); }
int main(int, char **)
{
    printf("main\n");
    use(false);
    atexit(last);
    use(true);
    use(true);
    return 3;
}
