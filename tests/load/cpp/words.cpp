// Strings in a sorted set, and a linked list.
#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

int main() {
    std::mt19937 random(9);
    std::vector<std::string> words;
    for (int i = 0; i < 300000; i++) {
        std::string word;
        int length = 3 + random() % 20;
        for (int j = 0; j < length; j++) word += 'a' + random() % 26;
        words.push_back(word);
    }
    std::sort(words.begin(), words.end());
    std::set<std::string> unique(words.begin(), words.end());
    size_t total = 0;
    for (const auto &word : unique) total += word.size();
    printf("%zu %zu\n", unique.size(), total);
}
