// Calls a function of a program with the arguments of a `call` test, and writes what it returns.
// The host includes this header before the program, and appends a text that uses `call` after it.
// Types are those of the function's parameters. `c/calls.cpp` reads and writes their parts.
#ifndef ASSAY_CALLS_H
#define ASSAY_CALLS_H

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

extern "C" {
bool assay_is(const char* text, const char* other);
void assay_begin(const char* function, int number, const char* json);
[[noreturn]] void assay_unfit(const char* expected);
bool assay_read_null();
bool assay_read_bool();
char assay_read_char();
long long assay_read_signed(long long least, long long most);
unsigned long long assay_read_unsigned(unsigned long long most);
double assay_read_double();
char* assay_read_text(std::size_t* length);
char assay_open(const char* brackets, const char* expected);
bool assay_next();
const char* assay_read_key();
void assay_end_key(const char* rest);
void assay_write(const char* text);
void assay_write_signed(long long value);
void assay_write_unsigned(unsigned long long value);
void assay_write_double(double value);
void assay_write_text(const char* text, std::size_t length);
[[noreturn]] void assay_finish();
}

namespace __assay {

template <class...>
using void_t = void;

template <class T>
constexpr bool never = false;

template <class T, class = void>
constexpr bool is_list_node = false;
template <class T>
constexpr bool is_list_node<T, void_t<decltype(T::val), decltype(T::next)>> =
    std::is_same_v<decltype(T::next), T*>;

template <class T, class = void>
constexpr bool is_tree_node = false;
template <class T>
constexpr bool is_tree_node<T, void_t<decltype(T::val), decltype(T::left), decltype(T::right)>> =
    std::is_same_v<decltype(T::left), T*> && std::is_same_v<decltype(T::right), T*>;

template <class T, class = void>
constexpr bool is_map = false;
template <class T>
constexpr bool is_map<T, void_t<typename T::key_type, typename T::mapped_type>> = true;

template <class T, class = void>
constexpr bool is_set = false;
template <class T>
constexpr bool is_set<T, void_t<typename T::key_type>> = !is_map<T>;

// Whether a set has no equal elements.
template <class T, class = void>
constexpr bool is_unique = false;
template <class T>
constexpr bool is_unique<
    T, void_t<decltype(std::declval<T&>().insert(std::declval<typename T::value_type>()).second)>> =
    true;

template <class T, class = void>
constexpr bool is_sequence = false;
template <class T>
constexpr bool is_sequence<
    T, void_t<decltype(std::declval<T&>().push_back(std::declval<typename T::value_type>()))>> =
    true;

template <class T, class = void>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<
    T, void_t<decltype(std::declval<T&>().has_value()), decltype(std::declval<T&>().value())>> =
    true;

template <class T, class = void>
constexpr bool is_tuple = false;
template <class T>
constexpr bool is_tuple<T, void_t<decltype(std::tuple_size<T>::value)>> = true;

// Whether a tuple is an array.
template <class T, class = void>
constexpr bool is_array = false;
template <class T>
constexpr bool is_array<T, void_t<typename T::value_type, decltype(std::tuple_size<T>::value)>> =
    true;

template <class T>
void read(T& target);
template <class T>
void write(const T& value);

template <class T>
std::string read_string()
{
    std::size_t length;
    const char* text = assay_read_text(&length);
    return std::string(text, length);
}

template <class Node>
Node* node_of()
{
    using Value = std::decay_t<decltype(Node::val)>;
    Value value{};
    read(value);
    Node* node;
    if constexpr (std::is_constructible_v<Node, Value>) {
        node = new Node(value);
    } else if constexpr (std::is_default_constructible_v<Node>) {
        node = new Node();
        node->val = value;
    } else {
        node = new Node{value};
    }
    return node;
}

template <class Node>
Node* read_list()
{
    if (assay_read_null())
        return nullptr;
    assay_open("[", "an array of the values of a list");
    Node* first = nullptr;
    Node* last = nullptr;
    while (assay_next()) {
        Node* node = node_of<Node>();
        node->next = nullptr;
        (last ? last->next : first) = node;
        last = node;
    }
    return first;
}

// A tree in level order, in which `null` is a missing child.
template <class Node>
Node* read_tree()
{
    if (assay_read_null())
        return nullptr;
    assay_open("[", "an array of the values of a tree in level order");
    std::vector<Node*> nodes;
    Node* root = nullptr;
    for (std::size_t at = 0; assay_next(); at++) {
        if (at > 0 && (at - 1) / 2 >= nodes.size())
            assay_unfit("a tree in level order, whose nodes all have a parent");
        if (assay_read_null())
            continue;
        Node* node = node_of<Node>();
        node->left = node->right = nullptr;
        if (at == 0)
            root = node;
        else
            (at % 2 ? nodes[(at - 1) / 2]->left : nodes[(at - 1) / 2]->right) = node;
        nodes.push_back(node);
    }
    return root;
}

template <class Key>
Key read_key()
{
    Key key{};
    if constexpr (std::is_convertible_v<std::string, Key>) {
        key = read_string<void>();
    } else {
        // The text of a key is the JSON of a number.
        const char* rest = assay_read_key();
        read(key);
        assay_end_key(rest);
    }
    return key;
}

template <class Map>
void read_map(Map& target)
{
    bool is_object = assay_open("{[", "an object") == '{';
    while (assay_next()) {
        if (is_object) {
            auto key = read_key<typename Map::key_type>();
            typename Map::mapped_type value{};
            assay_next();
            read(value);
            target.insert({std::move(key), std::move(value)});
        } else {
            std::pair<typename Map::key_type, typename Map::mapped_type> pair{};
            read(pair);
            target.insert(std::move(pair));
        }
    }
}

template <class Tuple, std::size_t... Index>
void read_tuple(Tuple& target, std::index_sequence<Index...>)
{
    const char* expected = "an array with one element for each part of a pair or tuple";
    assay_open("[", expected);
    ((assay_next() ? read(std::get<Index>(target)) : assay_unfit(expected)), ...);
    if (assay_next())
        assay_unfit(expected);
}

template <class T>
void read(T& target)
{
    if constexpr (std::is_same_v<T, bool>) {
        target = assay_read_bool();
    } else if constexpr (std::is_same_v<T, char>) {
        target = assay_read_char();
    } else if constexpr (std::is_integral_v<T> && sizeof(T) > sizeof(long long)) {
        target = assay_read_signed(std::numeric_limits<long long>::min(),
                                   std::numeric_limits<long long>::max());
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
        target = assay_read_signed(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    } else if constexpr (std::is_integral_v<T>) {
        target = assay_read_unsigned(std::numeric_limits<T>::max());
    } else if constexpr (std::is_floating_point_v<T>) {
        target = assay_read_double();
    } else if constexpr (std::is_same_v<T, std::string>) {
        target = read_string<void>();
    } else if constexpr (std::is_same_v<T, char*> || std::is_same_v<T, const char*>) {
        std::size_t length;
        target = assay_read_text(&length);
    } else if constexpr (is_tree_node<std::remove_pointer_t<T>>) {
        target = read_tree<std::remove_pointer_t<T>>();
    } else if constexpr (is_list_node<std::remove_pointer_t<T>>) {
        target = read_list<std::remove_pointer_t<T>>();
    } else if constexpr (is_optional<T>) {
        if (!assay_read_null())
            read(target.emplace());
    } else if constexpr (is_map<T>) {
        read_map(target);
    } else if constexpr (is_set<T>) {
        assay_open("[", "an array");
        while (assay_next()) {
            typename T::value_type element{};
            read(element);
            target.insert(std::move(element));
        }
    } else if constexpr (is_array<T>) {
        std::size_t count = 0;
        assay_open("[", "an array");
        for (; assay_next(); count++) {
            if (count >= target.size())
                assay_unfit("an array with as many elements as the parameter");
            read(target[count]);
        }
        if (count < target.size())
            assay_unfit("an array with as many elements as the parameter");
    } else if constexpr (is_tuple<T>) {
        read_tuple(target, std::make_index_sequence<std::tuple_size_v<T>>());
    } else if constexpr (is_sequence<T>) {
        assay_open("[", "an array");
        while (assay_next()) {
            typename T::value_type element{};
            read(element);
            target.push_back(std::move(element));
        }
    } else if constexpr (std::is_pointer_v<T>) {
        static_assert(never<T>, "a `call` test cannot pass a pointer to a function, because a "
                                "pointer has no length; use a container such as std::vector");
    } else {
        static_assert(never<T>, "a `call` test cannot pass this type to a function");
    }
}

template <class Range>
void write_elements(const Range& range)
{
    bool is_first = true;
    assay_write("[");
    for (const auto& element : range) {
        if (!is_first)
            assay_write(",");
        is_first = false;
        write<typename Range::value_type>(element);
    }
    assay_write("]");
}

template <class Map>
void write_map(const Map& map)
{
    bool is_first = true;
    assay_write("{\"$\":\"dict\",\"v\":[");
    for (const auto& [key, value] : map) {
        assay_write(is_first ? "[" : ",[");
        is_first = false;
        write<typename Map::key_type>(key);
        assay_write(",");
        write<typename Map::mapped_type>(value);
        assay_write("]");
    }
    assay_write("]}");
}

template <class Node>
void write_list(const Node* node)
{
    assay_write("[");
    for (bool is_first = true; node; node = node->next, is_first = false) {
        if (!is_first)
            assay_write(",");
        write(node->val);
    }
    assay_write("]");
}

template <class Node>
void write_tree(const Node* root)
{
    std::vector<const Node*> nodes{root};
    for (std::size_t at = 0; at < nodes.size(); at++) {
        if (const Node* node = nodes[at]) {
            nodes.push_back(node->left);
            nodes.push_back(node->right);
        }
    }
    while (!nodes.empty() && !nodes.back())
        nodes.pop_back();
    assay_write("[");
    for (std::size_t at = 0; at < nodes.size(); at++) {
        if (at > 0)
            assay_write(",");
        if (nodes[at])
            write(nodes[at]->val);
        else
            assay_write("null");
    }
    assay_write("]");
}

template <class Wide>
void write_wide(Wide value)
{
    char digits[48];
    char* at = digits + sizeof digits;
    *--at = 0;
    bool is_negative = value < 0;
    do {
        int digit = static_cast<int>(value % 10);
        *--at = static_cast<char>('0' + (is_negative ? -digit : digit));
        value /= 10;
    } while (value);
    if (is_negative)
        *--at = '-';
    assay_write(at);
}

template <class T>
void write(const T& value)
{
    if constexpr (std::is_same_v<T, bool>) {
        assay_write(value ? "true" : "false");
    } else if constexpr (std::is_same_v<T, char>) {
        assay_write_text(&value, 1);
    } else if constexpr (std::is_integral_v<T> && sizeof(T) > sizeof(long long)) {
        write_wide(value);
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
        assay_write_signed(value);
    } else if constexpr (std::is_integral_v<T>) {
        assay_write_unsigned(value);
    } else if constexpr (std::is_floating_point_v<T>) {
        assay_write_double(static_cast<double>(value));
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
        assay_write_text(value.data(), value.size());
    } else if constexpr (std::is_same_v<T, char*> || std::is_same_v<T, const char*>) {
        if (value)
            assay_write_text(value, std::char_traits<char>::length(value));
        else
            assay_write("null");
    } else if constexpr (is_tree_node<std::remove_pointer_t<T>>) {
        write_tree(value);
    } else if constexpr (is_list_node<std::remove_pointer_t<T>>) {
        write_list(value);
    } else if constexpr (is_optional<T>) {
        if (value.has_value())
            write<typename T::value_type>(*value);
        else
            assay_write("null");
    } else if constexpr (is_map<T>) {
        write_map(value);
    } else if constexpr (is_set<T> && is_unique<T>) {
        assay_write("{\"$\":\"set\",\"v\":");
        write_elements(value);
        assay_write("}");
    } else if constexpr (is_set<T> || is_sequence<T> || is_array<T>) {
        write_elements(value);
    } else if constexpr (is_tuple<T>) {
        bool is_first = true;
        assay_write("[");
        std::apply(
            [&](const auto&... parts) {
                ((assay_write(is_first ? "" : ","), is_first = false, write(parts)), ...);
            },
            value);
        assay_write("]");
    } else {
        static_assert(never<T>, "a `call` test cannot compare a returned value of this type");
    }
}

// The type of a function.
template <class Result, class... Parameters>
struct Signature {};

// Finds the only function of a set that has any number of parameters.
struct Any {
    template <class R, class... P>
    Signature<R, P...> operator()(R (*)(P...)) const;
    template <class C, class R, class... P>
    Signature<R, P...> operator()(R (C::*)(P...)) const;
    template <class C, class R, class... P>
    Signature<R, P...> operator()(R (C::*)(P...) const) const;
};

// Finds the only function of a set that has exactly this number of parameters.
template <std::size_t Count>
struct Exactly {
    void operator()() const;
};

#define ASSAY_EXACTLY(count, types, names)                                                         \
    template <>                                                                                    \
    struct Exactly<count> {                                                                        \
        template <class R ASSAY_LIST types>                                                        \
        Signature<R ASSAY_LIST names> operator()(R (*)(ASSAY_REST names)) const;                   \
        template <class C, class R ASSAY_LIST types>                                               \
        Signature<R ASSAY_LIST names> operator()(R (C::*)(ASSAY_REST names)) const;                \
        template <class C, class R ASSAY_LIST types>                                               \
        Signature<R ASSAY_LIST names> operator()(R (C::*)(ASSAY_REST names) const) const;          \
    };
#define ASSAY_LIST(...) __VA_OPT__(, ) __VA_ARGS__
#define ASSAY_REST(...) __VA_ARGS__
ASSAY_EXACTLY(0, (), ())
ASSAY_EXACTLY(1, (class A), (A))
ASSAY_EXACTLY(2, (class A, class B), (A, B))
ASSAY_EXACTLY(3, (class A, class B, class D), (A, B, D))
ASSAY_EXACTLY(4, (class A, class B, class D, class E), (A, B, D, E))
ASSAY_EXACTLY(5, (class A, class B, class D, class E, class F), (A, B, D, E, F))
ASSAY_EXACTLY(6, (class A, class B, class D, class E, class F, class G), (A, B, D, E, F, G))
#undef ASSAY_REST
#undef ASSAY_LIST
#undef ASSAY_EXACTLY

// The parameter type of a function that is declared after the program, with the name of the called
// one. It has a variable number of arguments, so it is never found.
struct Absent {};

template <class T>
using Pointer = T*;

template <class Callee, class Finder, class = void>
constexpr bool has_function = false;
template <class Callee, class Finder>
constexpr bool has_function<Callee, Finder, void_t<decltype(Callee::function(Finder()))>> = true;

template <class Callee, class Finder, class Class, class = void>
constexpr bool has_method = false;
template <class Callee, class Finder, class Class>
constexpr bool has_method<Callee, Finder, Class,
                          void_t<decltype(Callee::method(Finder(), Pointer<Class>()))>> = true;

// How the argument of a parameter is stored.
template <class Parameter>
using Stored = std::conditional_t<std::is_same_v<std::decay_t<Parameter>, std::string_view>,
                                  std::string, std::decay_t<Parameter>>;

template <class T>
void read_argument(const char* function, int number, const char* json, T& target)
{
    assay_begin(function, number, json);
    read(target);
}

template <class Callee, class Class, class Result, class... Parameters, std::size_t... Index>
void call_with(const char* name, char** arguments, Signature<Result, Parameters...>,
               std::index_sequence<Index...>)
{
    static_assert(sizeof...(Index) <= sizeof...(Parameters),
                  "the function has fewer parameters than the test passes");
    if constexpr (sizeof...(Index) <= sizeof...(Parameters)) {
        using Types = std::tuple<Parameters...>;
        std::tuple<Stored<std::tuple_element_t<Index, Types>>...> values{};
        (read_argument(name, Index + 1, arguments[Index], std::get<Index>(values)), ...);
        std::conditional_t<std::is_void_v<Class>, Absent, Class> object;
        auto call = [&]() -> decltype(auto) {
            if constexpr (std::is_void_v<Class>)
                return Callee::call(
                    static_cast<std::tuple_element_t<Index, Types>&&>(std::get<Index>(values))...);
            else
                return Callee::call_method(
                    object,
                    static_cast<std::tuple_element_t<Index, Types>&&>(std::get<Index>(values))...);
        };
        if constexpr (std::is_void_v<Result>) {
            call();
            assay_write("null");
        } else {
            decltype(auto) result = call();
            write<std::decay_t<Result>>(result);
        }
        assay_finish();
    }
}

// Calls a global function or, if there is none, a method of `Class`. Among functions of one name,
// the one with `Count` parameters is called.
template <class Callee, class Class, std::size_t Count>
void call(const char* name, char** arguments)
{
    using Exact = Exactly<Count>;
    using Object = Pointer<Class>;
    auto index = std::make_index_sequence<Count>();
    if constexpr (has_function<Callee, Exact>)
        call_with<Callee, void>(name, arguments, decltype(Callee::function(Exact()))(), index);
    else if constexpr (has_function<Callee, Any>)
        call_with<Callee, void>(name, arguments, decltype(Callee::function(Any()))(), index);
    else if constexpr (has_method<Callee, Exact, Class>)
        call_with<Callee, Class>(name, arguments, decltype(Callee::method(Exact(), Object()))(),
                                 index);
    else if constexpr (has_method<Callee, Any, Class>)
        call_with<Callee, Class>(name, arguments, decltype(Callee::method(Any(), Object()))(),
                                 index);
    else
        static_assert(never<Callee>, "the program defines neither a global function with the name "
                                     "that the test calls, nor such a public method of `Solution`; "
                                     "templates, and overloads with equally many parameters, "
                                     "cannot be called");
}

} // namespace __assay

#endif
