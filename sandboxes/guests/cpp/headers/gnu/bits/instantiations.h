// Uses what programs use most, so that the precompiled header contains these instantiations of
// templates and a compilation need not repeat them. The function is never called or emitted.
#ifndef ASSAY_BITS_INSTANTIATIONS_H
#define ASSAY_BITS_INSTANTIATIONS_H

#include <assay/calls.h>
#include <bits/stdc++.h>

namespace assay {

template <class T>
inline void use_vector(std::vector<T> list, T value)
{
    std::vector<T> other(10), third(10, value), fourth = {value, value};
    std::vector<std::vector<T>> rows(10, std::vector<T>(10)), more(10);
    list.push_back(value);
    list.emplace_back(value);
    list.resize(10);
    list.resize(10, value);
    list.assign(10, value);
    list.reserve(10);
    list.pop_back();
    list.insert(list.begin(), value);
    list.erase(list.begin());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    list.clear();
    rows.push_back(list);
    rows.push_back({value});
    rows.resize(10, list);
    rows[0].push_back(value);
    std::sort(list.begin(), list.end());
    std::sort(list.rbegin(), list.rend());
    std::sort(list.begin(), list.end(), std::greater<T>());
    std::sort(&list[0], &list[0] + 10);
    std::reverse(list.begin(), list.end());
    std::swap(list, other);
    list = third;
    list = std::move(fourth);
    value = *std::max_element(list.begin(), list.end());
    value = *std::min_element(list.begin(), list.end());
    value = std::max(value, *std::lower_bound(list.begin(), list.end(), value));
    value = std::min(value, *std::upper_bound(list.begin(), list.end(), value));
    std::fill(list.begin(), list.end(), value);
    std::swap(list[0], list[1]);
}

template <class T>
inline void use_containers(T value)
{
    std::set<T> set;
    set.insert(value);
    set.erase(value);
    set.erase(set.begin());
    set.lower_bound(value);
    set.upper_bound(value);
    set.count(value);
    value = *set.rbegin();
    for (const T& each : set)
        value = each;
    std::multiset<T> many;
    many.insert(value);
    many.erase(many.find(value));
    std::unordered_set<T> unordered;
    unordered.insert(value);
    unordered.erase(value);
    unordered.count(value);
    std::priority_queue<T> highest;
    highest.push(value);
    value = highest.top();
    highest.pop();
    std::priority_queue<T, std::vector<T>, std::greater<T>> lowest;
    lowest.push(value);
    value = lowest.top();
    lowest.pop();
}

template <class T>
inline void use_queues(T value)
{
    std::queue<T> queue;
    queue.push(value);
    value = queue.front();
    queue.pop();
    std::stack<T> stack;
    stack.push(value);
    value = stack.top();
    stack.pop();
    std::deque<T> deque;
    deque.push_back(value);
    deque.push_front(value);
    deque.pop_back();
    deque.pop_front();
    value = deque.front();
    value = deque.back();
    value = deque[0];
}

template <class Key, class Value>
inline void use_maps(Key key, Value value)
{
    std::map<Key, Value> map;
    map[key]++;
    map[key] = value;
    map[Key(key)] = value;
    map.erase(key);
    map.count(key);
    map.find(key);
    map.lower_bound(key);
    map.upper_bound(key);
    map.insert({key, value});
    map.erase(map.begin());
    for (auto& [first, second] : map)
        value = second;
    for (auto& each : map)
        value = each.second;
    map.clear();
    std::unordered_map<Key, Value> unordered;
    unordered[key]++;
    unordered[key] = value;
    unordered[Key(key)] = value;
    unordered.erase(key);
    unordered.count(key);
    unordered.find(key);
    for (auto& [first, second] : unordered)
        value = second;
    for (auto& each : unordered)
        value = each.second;
}

inline void use_text()
{
    std::string text = "text", other = text + "." + 'c';
    std::cin >> text;
    std::getline(std::cin, text);
    text += other;
    text += 'c';
    text.push_back('c');
    text.pop_back();
    text = text.substr(1, 2) + other.substr(1);
    text.find("x");
    text.find('x');
    text.erase(0, 1);
    text.insert(0, "x");
    std::reverse(text.begin(), text.end());
    std::sort(text.begin(), text.end());
    text = std::to_string(1) + std::to_string(1LL) + std::to_string(1.0);
    text = std::string(10, 'c');
    bool less = text < other || text == other || text == "x";
    std::stringstream stream(text);
    std::istringstream input(text);
    std::ostringstream output;
    stream >> text;
    input >> text;
    output << text << 1 << 'c' << "x";
    text = output.str();
    std::cout << less << text << 'c' << "x" << std::endl << std::fixed << std::setprecision(6);
    std::cout << std::setw(3) << std::setfill('0') << std::hex << std::boolalpha << "\n";
    std::cerr << text << 1 << "x" << std::endl;
    std::stoi(text);
    std::stoll(text);
    std::vector<std::string> list;
    list.push_back(text);
    list.emplace_back("x");
    std::sort(list.begin(), list.end());
    std::set<std::string> set;
    set.insert(text);
    use_maps<std::string, int>(text, 1);
    std::map<std::string, std::string>()[text] = text;
    std::map<std::string, std::vector<std::string>>()[text].push_back(text);
    std::map<int, std::vector<int>>()[1].push_back(1);
    std::map<char, int>()['c']++;
    std::unordered_map<char, int>()['c']++;
    std::map<std::pair<int, int>, int>()[{1, 1}]++;
}

inline void use_numbers()
{
    int number = 0;
    unsigned natural = 0;
    long word = 0;
    long long wide = 0;
    unsigned long long bits = 0;
    double real = 0;
    char letter = 0;
    std::cin >> number >> natural >> word >> wide >> bits >> real >> letter;
    std::cout << number << natural << word << wide << bits << real << letter << size_t(1);
    std::vector<int> list(10);
    std::iota(list.begin(), list.end(), 0);
    wide = std::accumulate(list.begin(), list.end(), 0LL);
    number = std::accumulate(list.begin(), list.end(), 0);
    std::next_permutation(list.begin(), list.end());
    std::mt19937 random(1);
    number = std::uniform_int_distribution<int>(1, 2)(random);
    std::ios::sync_with_stdio(false);
    std::cin.tie(nullptr);
    std::function<int(int)> function = [&](int value) { return value + number; };
    std::function<void(int, int)> procedure = [&](int one, int two) { number = one + two; };
    function(1);
    procedure(1, 2);
    auto [first, second] = std::minmax(1, 2);
    number = std::max({first, second, 3}) + std::min({1, 2, 3}) + std::abs(number);
    real = std::sqrt(real) + std::pow(real, 2) + std::fabs(real);
    std::array<int, 26> array{};
    std::fill(array.begin(), array.end(), 0);
    std::tuple<int, int, int> triple{1, 2, 3};
    std::vector<std::tuple<int, int, int>> triples;
    triples.push_back(triple);
    triples.emplace_back(1, 2, 3);
    std::sort(triples.begin(), triples.end());
    std::unique_ptr<int> owner = std::make_unique<int>(1);
    std::shared_ptr<int> shared = std::make_shared<int>(1);
    std::bitset<1000> flags;
    flags[1] = flags.count() > 1;
}

inline void use_all()
{
    use_vector<int>({}, 1);
    use_vector<long>({}, 1);
    use_vector<long long>({}, 1);
    use_vector<double>({}, 1);
    use_vector<char>({}, 1);
    use_vector<std::pair<int, int>>({}, {1, 1});
    use_vector<std::pair<long long, int>>({}, {1, 1});
    std::vector<std::vector<std::pair<int, int>>>(10)[0].push_back({1, 1});
    std::vector<std::vector<std::pair<int, int>>>(10)[0].emplace_back(1, 1);
    std::vector<std::pair<int, int>>().emplace_back(1, 1);
    std::vector<bool> flags(10, false);
    flags[1] = !flags[0];
    std::vector<std::vector<bool>>(10, flags)[0][0] = true;
    use_containers<int>(1);
    use_containers<long long>(1);
    std::set<std::pair<int, int>>().insert({1, 1});
    std::set<char>().insert('c');
    std::priority_queue<std::pair<int, int>>().push({1, 1});
    std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>,
                        std::greater<std::pair<int, int>>>()
        .push({1, 1});
    std::priority_queue<std::pair<long long, int>, std::vector<std::pair<long long, int>>,
                        std::greater<std::pair<long long, int>>>()
        .emplace(1, 1);
    use_queues<int>(1);
    use_queues<std::pair<int, int>>({1, 1});
    use_queues<char>('c');
    use_maps<int, int>(1, 1);
    use_maps<long long, int>(1, 1);
    use_maps<long long, long long>(1, 1);
    use_text();
    use_numbers();
}

} // namespace assay

#endif
