// Associative containers with the interface of GCC's policy-based data structures: ordered trees
// with order statistics, and hash tables.
#ifndef ASSAY_PB_DS_ASSOC_CONTAINER
#define ASSAY_PB_DS_ASSOC_CONTAINER

#include <cstddef>
#include <cstdint>
#include <ext/pb_ds/tag_and_trait.hpp>
#include <iterator>
#include <limits>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

namespace __gnu_pbds {

// A treap: a binary search tree in which parents have higher priorities than their children.
// Priorities are pseudorandom and the same in each run. Subtrees know their sizes.
template <class Key, class Mapped, class Compare = std::less<Key>, class Tag = rb_tree_tag,
          template <class...> class Update = null_node_update,
          class Allocator = std::allocator<char>>
class tree {
    static constexpr bool is_set = std::is_same<Mapped, null_type>::value;

public:
    using key_type = Key;
    using mapped_type = Mapped;
    using value_type = std::conditional_t<is_set, Key, std::pair<const Key, Mapped>>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using cmp_fn = Compare;
    using container_category = Tag;
    using reference = value_type&;
    using const_reference = const value_type&;

private:
    struct node {
        node *left = nullptr, *right = nullptr, *parent = nullptr;
        size_type size = 1;
        std::uint32_t priority = 0;
        value_type value;
        template <class... Values>
        explicit node(Values&&... values) : value(std::forward<Values>(values)...)
        {
        }
        const Key& key() const
        {
            if constexpr (is_set)
                return value;
            else
                return value.first;
        }
    };

    template <class Value>
    class position {
        friend class tree;
        const tree* owner = nullptr;
        node* at = nullptr;
        position(const tree* owner, node* at) : owner(owner), at(at) {}

    public:
        using iterator_category = std::bidirectional_iterator_tag;
        using value_type = std::remove_const_t<Value>;
        using difference_type = std::ptrdiff_t;
        using pointer = Value*;
        using reference = Value&;
        position() = default;
        template <class Other, class = std::enable_if_t<std::is_convertible<Other*, Value*>::value>>
        position(const position<Other>& other) : owner(other.owner), at(other.at)
        {
        }
        template <class>
        friend class position;
        reference operator*() const { return at->value; }
        pointer operator->() const { return &at->value; }
        position& operator++()
        {
            at = neighbour(at, &node::left, &node::right);
            return *this;
        }
        position& operator--()
        {
            at = at ? neighbour(at, &node::right, &node::left) : owner->last();
            return *this;
        }
        position operator++(int)
        {
            position old = *this;
            ++*this;
            return old;
        }
        position operator--(int)
        {
            position old = *this;
            --*this;
            return old;
        }
        bool operator==(const position& other) const { return at == other.at; }
        bool operator!=(const position& other) const { return at != other.at; }
    };

public:
    using iterator = position<std::conditional_t<is_set, const value_type, value_type>>;
    using const_iterator = position<const value_type>;
    using point_iterator = iterator;
    using point_const_iterator = const_iterator;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;

    tree() = default;
    explicit tree(const Compare& less) : less(less) {}
    template <class Iterator>
    tree(Iterator first, Iterator last)
    {
        for (; first != last; ++first)
            insert(*first);
    }
    tree(const tree& other)
        : root(copy(other.root, nullptr)), less(other.less), state(other.state)
    {
    }
    tree(tree&& other) noexcept { swap(other); }
    tree& operator=(tree other)
    {
        swap(other);
        return *this;
    }
    ~tree() { clear(); }

    void swap(tree& other)
    {
        std::swap(root, other.root);
        std::swap(less, other.less);
        std::swap(state, other.state);
    }
    bool empty() const { return !root; }
    size_type size() const { return size_of(root); }
    size_type max_size() const { return size_type(-1) / sizeof(node); }
    void clear()
    {
        destroy(root);
        root = nullptr;
    }
    Compare& get_cmp_fn() { return less; }
    const Compare& get_cmp_fn() const { return less; }

    iterator begin() { return {this, first()}; }
    iterator end() { return {this, nullptr}; }
    const_iterator begin() const { return {this, first()}; }
    const_iterator end() const { return {this, nullptr}; }
    reverse_iterator rbegin() { return reverse_iterator(end()); }
    reverse_iterator rend() { return reverse_iterator(begin()); }
    const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
    const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }

    iterator lower_bound(const Key& key) { return {this, not_less(key)}; }
    const_iterator lower_bound(const Key& key) const { return {this, not_less(key)}; }
    iterator upper_bound(const Key& key) { return {this, greater(key)}; }
    const_iterator upper_bound(const Key& key) const { return {this, greater(key)}; }
    iterator find(const Key& key) { return {this, equal(key)}; }
    const_iterator find(const Key& key) const { return {this, equal(key)}; }

    iterator find_by_order(size_type order) { return {this, at_order(order)}; }
    const_iterator find_by_order(size_type order) const { return {this, at_order(order)}; }
    // Programs use `less_equal` for multisets, so which comparison is made first matters.
    size_type order_of_key(const Key& key) const
    {
        size_type count = 0;
        for (node* at = root; at;) {
            if (less(key, at->key())) {
                at = at->left;
            } else if (less(at->key(), key)) {
                count += size_of(at->left) + 1;
                at = at->right;
            } else {
                return count + size_of(at->left);
            }
        }
        return count;
    }

    std::pair<iterator, bool> insert(const_reference value)
    {
        return emplace(key_of(value), value);
    }
    template <class M = Mapped>
    std::enable_if_t<!std::is_same<M, null_type>::value, M&> operator[](const Key& key)
    {
        return emplace(key, key, M()).first->second;
    }
    bool erase(const Key& key)
    {
        node* found = equal(key);
        if (found)
            remove(found);
        return found;
    }
    iterator erase(iterator where)
    {
        iterator next = std::next(where);
        remove(where.at);
        return next;
    }
    template <class Predicate>
    size_type erase_if(Predicate predicate)
    {
        size_type count = 0;
        for (iterator at = begin(); at != end();) {
            if (predicate(*at)) {
                at = erase(at);
                count++;
            } else {
                ++at;
            }
        }
        return count;
    }

    // Moves all elements of `other`, whose keys are all greater or all less, into this tree.
    void join(tree& other)
    {
        if (root && other.root && less(other.first()->key(), last()->key()))
            root = merged(other.root, root);
        else
            root = merged(root, other.root);
        if (root)
            root->parent = nullptr;
        other.root = nullptr;
    }
    // Moves the elements with keys greater than `key` into `other`.
    void split(const Key& key, tree& other)
    {
        other.clear();
        node *low, *high;
        divide(root, key, low, high);
        root = low;
        other.root = high;
        if (low)
            low->parent = nullptr;
        if (high)
            high->parent = nullptr;
    }

private:
    node* root = nullptr;
    Compare less = Compare();
    std::uint32_t state = 2463534242u;

    static size_type size_of(const node* at) { return at ? at->size : 0; }
    static void update(node* at) { at->size = size_of(at->left) + size_of(at->right) + 1; }
    static const Key& key_of(const_reference value)
    {
        if constexpr (is_set)
            return value;
        else
            return value.first;
    }
    static node* neighbour(node* at, node* node::*back, node* node::*forward)
    {
        if (at->*forward) {
            at = at->*forward;
            while (at->*back)
                at = at->*back;
            return at;
        }
        while (at->parent && at->parent->*forward == at)
            at = at->parent;
        return at->parent;
    }
    node* first() const { return extreme(&node::left); }
    node* last() const { return extreme(&node::right); }
    node* extreme(node* node::*side) const
    {
        node* at = root;
        while (at && at->*side)
            at = at->*side;
        return at;
    }
    node* not_less(const Key& key) const
    {
        node* found = nullptr;
        for (node* at = root; at;) {
            if (less(at->key(), key)) {
                at = at->right;
            } else {
                found = at;
                at = at->left;
            }
        }
        return found;
    }
    node* greater(const Key& key) const
    {
        node* found = nullptr;
        for (node* at = root; at;) {
            if (less(key, at->key())) {
                found = at;
                at = at->left;
            } else {
                at = at->right;
            }
        }
        return found;
    }
    node* equal(const Key& key) const
    {
        node* found = not_less(key);
        return found && !less(key, found->key()) ? found : nullptr;
    }
    node* at_order(size_type order) const
    {
        node* at = root;
        while (at) {
            size_type before = size_of(at->left);
            if (order == before)
                return at;
            if (order < before) {
                at = at->left;
            } else {
                order -= before + 1;
                at = at->right;
            }
        }
        return nullptr;
    }
    std::uint32_t random()
    {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        return state;
    }
    void replace(node* parent, node* old, node* with)
    {
        if (!parent)
            root = with;
        else if (parent->left == old)
            parent->left = with;
        else
            parent->right = with;
        if (with)
            with->parent = parent;
    }
    // Moves a node above its parent.
    void rotate(node* at)
    {
        node* parent = at->parent;
        replace(parent->parent, parent, at);
        if (parent->left == at) {
            parent->left = at->right;
            if (at->right)
                at->right->parent = parent;
            at->right = parent;
        } else {
            parent->right = at->left;
            if (at->left)
                at->left->parent = parent;
            at->left = parent;
        }
        parent->parent = at;
        update(parent);
        update(at);
    }
    template <class... Values>
    std::pair<iterator, bool> emplace(const Key& key, Values&&... values)
    {
        node *parent = nullptr, *candidate = nullptr;
        bool right = false;
        for (node* at = root; at;) {
            parent = at;
            right = less(at->key(), key);
            if (!right)
                candidate = at;
            at = right ? at->right : at->left;
        }
        if (candidate && !less(key, candidate->key()))
            return {iterator(this, candidate), false};
        node* made = new node(std::forward<Values>(values)...);
        made->priority = random();
        made->parent = parent;
        if (!parent)
            root = made;
        else
            (right ? parent->right : parent->left) = made;
        for (node* at = parent; at; at = at->parent)
            at->size++;
        while (made->parent && made->parent->priority < made->priority)
            rotate(made);
        return {iterator(this, made), true};
    }
    void remove(node* at)
    {
        while (at->left && at->right)
            rotate(at->left->priority > at->right->priority ? at->left : at->right);
        node* parent = at->parent;
        replace(parent, at, at->left ? at->left : at->right);
        for (; parent; parent = parent->parent)
            parent->size--;
        delete at;
    }
    static node* copy(const node* from, node* parent)
    {
        if (!from)
            return nullptr;
        node* made = new node(from->value);
        made->size = from->size;
        made->priority = from->priority;
        made->parent = parent;
        made->left = copy(from->left, made);
        made->right = copy(from->right, made);
        return made;
    }
    static void destroy(node* at)
    {
        while (at) {
            destroy(at->left);
            node* right = at->right;
            delete at;
            at = right;
        }
    }
    static node* merged(node* low, node* high)
    {
        if (!low || !high)
            return low ? low : high;
        node* top = low->priority > high->priority ? low : high;
        node*& side = top == low ? low->right : high->left;
        side = top == low ? merged(low->right, high) : merged(low, high->left);
        side->parent = top;
        update(top);
        return top;
    }
    void divide(node* at, const Key& key, node*& low, node*& high)
    {
        if (!at) {
            low = high = nullptr;
        } else if (less(key, at->key())) {
            divide(at->left, key, low, at->left);
            if (at->left)
                at->left->parent = at;
            update(high = at);
        } else {
            divide(at->right, key, at->right, high);
            if (at->right)
                at->right->parent = at;
            update(low = at);
        }
    }
};

// A hash table: `std::unordered_map` or `std::unordered_set` with the missing names.
template <class Key, class Mapped, class Hash, class Equal>
class hash_table : public std::unordered_map<Key, Mapped, Hash, Equal> {
    using base = std::unordered_map<Key, Mapped, Hash, Equal>;

public:
    using base::base;
    using base::erase;
    using point_iterator = typename base::iterator;
    using point_const_iterator = typename base::const_iterator;
    bool erase(const Key& key) { return base::erase(key) != 0; }
};
template <class Key, class Hash, class Equal>
class hash_table<Key, null_type, Hash, Equal> : public std::unordered_set<Key, Hash, Equal> {
    using base = std::unordered_set<Key, Hash, Equal>;

public:
    using base::base;
    using base::erase;
    using point_iterator = typename base::iterator;
    using point_const_iterator = typename base::const_iterator;
    bool erase(const Key& key) { return base::erase(key) != 0; }
};

template <class Key, class Mapped, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>,
          class...>
using gp_hash_table = hash_table<Key, Mapped, Hash, Equal>;
template <class Key, class Mapped, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>,
          class...>
using cc_hash_table = hash_table<Key, Mapped, Hash, Equal>;

// Texts in the order of their elements, which is that of a tree, with ranges of equal beginnings.
template <class Key, class Mapped, class Traits = trie_string_access_traits<Key>,
          class Tag = pat_trie_tag, template <class...> class Update = null_node_update,
          class Allocator = std::allocator<char>>
class trie : public tree<Key, Mapped, std::less<Key>, rb_tree_tag, Update, Allocator> {
    using base = tree<Key, Mapped, std::less<Key>, rb_tree_tag, Update, Allocator>;

public:
    using access_traits = Traits;
    using container_category = Tag;
    using base::base;

    std::pair<typename base::iterator, typename base::iterator> prefix_range(const Key& prefix)
    {
        // The next text after all that begin with the prefix; none after the largest elements.
        Key next = prefix;
        while (!next.empty() && next.back() == std::numeric_limits<char>::max())
            next.pop_back();
        if (next.empty())
            return {this->lower_bound(prefix), this->end()};
        ++next.back();
        return {this->lower_bound(prefix), this->lower_bound(next)};
    }
};

} // namespace __gnu_pbds

#endif
