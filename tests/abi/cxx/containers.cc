// Containers and algorithms.
#include "abi.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

int main(int, char **)
{
    std::vector<int> numbers(1000);
    std::map<std::string, int> words;
    std::unordered_map<int, int> counts;
    std::iota(numbers.begin(), numbers.end(), 0);
    std::reverse(numbers.begin(), numbers.end());
    std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a % 10 != b % 10 ? a % 10 < b % 10 : a < b; });
    printf("%d %d %d\n", numbers[0], numbers[100], numbers[999]);
    for (const char *word : {"one", "two", "three", "two"})
        words[word]++;
    for (auto &[word, count] : words)
        printf("%s %d\n", word.c_str(), count);
    for (int number : numbers)
        counts[number % 7]++;
    printf("%d %zu\n", counts[3], counts.size());
    auto shared = std::make_shared<std::string>("shared");
    auto other = shared;
    printf("%s %ld\n", other->c_str(), other.use_count());
    return 0;
}
