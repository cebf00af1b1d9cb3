// A priority queue with the interface of GCC's policy-based one: a pairing heap, for every tag.
#ifndef ASSAY_PB_DS_PRIORITY_QUEUE
#define ASSAY_PB_DS_PRIORITY_QUEUE

#include <cstddef>
#include <ext/pb_ds/tag_and_trait.hpp>
#include <iterator>
#include <vector>

namespace __gnu_pbds {

template <class Value, class Compare = std::less<Value>, class Tag = pairing_heap_tag,
          class Allocator = std::allocator<char>>
class priority_queue {
    struct node {
        // `previous` is the parent of a first child.
        node *child = nullptr, *next = nullptr, *previous = nullptr;
        Value value;
        explicit node(const Value& value) : value(value) {}
    };

public:
    using value_type = Value;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using cmp_fn = Compare;
    using container_category = Tag;
    using reference = Value&;
    using const_reference = const Value&;

    // Elements in no particular order. An iterator is valid until its element is removed.
    class point_iterator {
        friend class priority_queue;
        node* at = nullptr;
        explicit point_iterator(node* at) : at(at) {}

    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = Value;
        using difference_type = std::ptrdiff_t;
        using pointer = const Value*;
        using reference = const Value&;
        point_iterator() = default;
        point_iterator(std::nullptr_t) {}
        reference operator*() const { return at->value; }
        pointer operator->() const { return &at->value; }
        point_iterator& operator++()
        {
            if (at->child) {
                at = at->child;
                return *this;
            }
            while (at && !at->next)
                at = parent(at);
            at = at ? at->next : nullptr;
            return *this;
        }
        point_iterator operator++(int)
        {
            point_iterator old = *this;
            ++*this;
            return old;
        }
        bool operator==(const point_iterator& other) const { return at == other.at; }
        bool operator!=(const point_iterator& other) const { return at != other.at; }
    };
    using iterator = point_iterator;
    using const_iterator = point_iterator;
    using point_const_iterator = point_iterator;

    priority_queue() = default;
    explicit priority_queue(const Compare& less) : less(less) {}
    template <class Iterator>
    priority_queue(Iterator first, Iterator last)
    {
        for (; first != last; ++first)
            push(*first);
    }
    priority_queue(const priority_queue& other) : less(other.less)
    {
        for (const Value& value : other)
            push(value);
    }
    priority_queue(priority_queue&& other) noexcept { swap(other); }
    priority_queue& operator=(priority_queue other)
    {
        swap(other);
        return *this;
    }
    ~priority_queue() { clear(); }

    void swap(priority_queue& other)
    {
        std::swap(root, other.root);
        std::swap(count, other.count);
        std::swap(less, other.less);
    }
    bool empty() const { return !root; }
    size_type size() const { return count; }
    const_reference top() const { return root->value; }
    iterator begin() const { return iterator(root); }
    iterator end() const { return iterator(); }
    point_iterator push(const Value& value)
    {
        node* made = new node(value);
        root = meld(root, made);
        count++;
        return point_iterator(made);
    }
    void pop() { erase(point_iterator(root)); }
    void erase(point_iterator where)
    {
        node* old = where.at;
        node* rest = combine(old->child);
        if (old == root) {
            root = rest;
        } else {
            detach(old);
            root = meld(root, rest);
        }
        count--;
        delete old;
    }
    void modify(point_iterator where, const Value& value)
    {
        node* at = where.at;
        node* rest = combine(at->child);
        at->child = nullptr;
        at->value = value;
        if (at == root) {
            root = meld(at, rest);
        } else {
            detach(at);
            root = meld(meld(root, rest), at);
        }
    }
    void join(priority_queue& other)
    {
        root = meld(root, other.root);
        count += other.count;
        other.root = nullptr;
        other.count = 0;
    }
    void clear()
    {
        std::vector<node*> waiting;
        if (root)
            waiting.push_back(root);
        while (!waiting.empty()) {
            node* at = waiting.back();
            waiting.pop_back();
            if (at->child)
                waiting.push_back(at->child);
            if (at->next)
                waiting.push_back(at->next);
            delete at;
        }
        root = nullptr;
        count = 0;
    }

private:
    node* root = nullptr;
    size_type count = 0;
    Compare less = Compare();

    static node* parent(node* at)
    {
        while (at->previous && at->previous->child != at)
            at = at->previous;
        return at->previous;
    }
    static void detach(node* at)
    {
        if (at->previous->child == at)
            at->previous->child = at->next;
        else
            at->previous->next = at->next;
        if (at->next)
            at->next->previous = at->previous;
        at->next = at->previous = nullptr;
    }
    node* meld(node* one, node* other)
    {
        if (!one || !other)
            return one ? one : other;
        if (less(one->value, other->value))
            std::swap(one, other);
        other->next = one->child;
        if (other->next)
            other->next->previous = other;
        other->previous = one;
        one->child = other;
        return one;
    }
    // Melds a list of siblings in pairs, and the pairs from the last to the first.
    node* combine(node* list)
    {
        node *pairs = nullptr, *result = nullptr;
        while (list) {
            node *one = list, *other = list->next;
            list = other ? other->next : nullptr;
            one->next = one->previous = nullptr;
            if (other)
                other->next = other->previous = nullptr;
            node* pair = meld(one, other);
            pair->next = pairs;
            pairs = pair;
        }
        while (pairs) {
            node* rest = pairs->next;
            pairs->next = nullptr;
            result = meld(result, pairs);
            pairs = rest;
        }
        return result;
    }
};

} // namespace __gnu_pbds

#endif
