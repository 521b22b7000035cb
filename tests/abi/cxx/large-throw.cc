// Exceptions with data, through many frames and with cleanup in between.
#include "abi.h"

#include <array>
#include <string>

struct carried {
    std::array<int, 500> numbers;
    std::string text;
};
static int depth(int n)
{
    std::string here(100, 'x');
    if (n == 0) {
        carried c;
        for (int i = 0; i < 500; i++)
            c.numbers[(size_t)i] = i;
        c.text = "carried text that is longer than a short string";
        throw c;
    }
    return depth(n - 1) + (int)here.size();
}
int main(int, char **)
{
    try {
        depth(200);
    } catch (carried &c) {
        printf("%d %s\n", c.numbers[499], c.text.c_str());
    }
    return 0;
}
