/* The sorts of V8, which compare the same pairs in the same order, so that comparison functions
 * that contradict themselves have the same results.
 *
 * Arrays are sorted by Timsort (T. Peters, listsort.txt of CPython): runs that are in order are
 * found or made, and merged in pairs of similar lengths. Typed arrays are sorted by merging halves.
 * `compare(a, b, data)` is negative if a comes before b. Both sorts are stable. */
#ifndef SORT_H
#define SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef int compare_function(const void *left, const void *right, void *data);

enum { MIN_GALLOP = 7, MIN_MERGE = 64, MAX_RUNS = 85 };

struct run {
    size_t start, length;
};

struct sort {
    char *elements, *kept;
    size_t width;
    compare_function *compare;
    void *data;
    size_t min_gallop;
    struct run runs[MAX_RUNS];
    int pending;
};

static bool comes_before(const struct sort *sort, const char *left, const char *right)
{
    return sort->compare(left, right, sort->data) < 0;
}

static char *at(const struct sort *sort, size_t index)
{
    return sort->elements + index * sort->width;
}

static void move(const struct sort *sort, char *to, const char *from, size_t count)
{
    memmove(to, from, count * sort->width);
}

/* Shorter runs are made longer: 32 to 64, so that their number is about a power of 2. */
static size_t shortest_run(size_t length)
{
    size_t odd = 0;
    while (length >= MIN_MERGE) {
        odd |= length & 1;
        length >>= 1;
    }
    return length + odd;
}

static void reverse(const struct sort *sort, size_t start, size_t end)
{
    for (; start + 1 < end; start++, end--) {
        move(sort, sort->kept, at(sort, start), 1);
        move(sort, at(sort, start), at(sort, end - 1), 1);
        move(sort, at(sort, end - 1), sort->kept, 1);
    }
}

/* The length of the run at the start. One that strictly descends is reversed. */
static size_t count_run(const struct sort *sort, size_t start, size_t end)
{
    if (start + 1 == end)
        return 1;
    bool descending = comes_before(sort, at(sort, start + 1), at(sort, start));
    size_t next = start + 2;
    while (next < end && comes_before(sort, at(sort, next), at(sort, next - 1)) == descending)
        next++;
    if (descending)
        reverse(sort, start, next);
    return next - start;
}

/* Inserts the elements from `first` into the sorted ones before them. */
static void insert_rest(const struct sort *sort, size_t start, size_t first, size_t end)
{
    for (; first < end; first++) {
        size_t low = start, high = first;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (comes_before(sort, at(sort, first), at(sort, middle)))
                high = middle;
            else
                low = middle + 1;
        }
        move(sort, sort->kept, at(sort, first), 1);
        move(sort, at(sort, low + 1), at(sort, low), first - low);
        move(sort, at(sort, low), sort->kept, 1);
    }
}

/* The next distance of a search whose steps double. */
static ptrdiff_t farther(ptrdiff_t distance, ptrdiff_t limit)
{
    distance = 2 * distance + 1;
    return distance > limit ? limit : distance;
}

/* The number of elements before the place of a key, which is before equal ones. The search starts
 * at `hint` with steps that double. */
static size_t gallop_left(const struct sort *sort, const char *key, const char *base, size_t length,
                          size_t hint)
{
    size_t width = sort->width;
    ptrdiff_t last = 0, distance = 1, start = hint, low, high;
    if (comes_before(sort, base + hint * width, key)) {
        ptrdiff_t limit = length - hint;
        while (distance < limit && comes_before(sort, base + (start + distance) * width, key)) {
            last = distance;
            distance = farther(distance, limit);
        }
        low = start + last;
        high = start + distance;
    } else {
        ptrdiff_t limit = hint + 1;
        while (distance < limit && !comes_before(sort, base + (start - distance) * width, key)) {
            last = distance;
            distance = farther(distance, limit);
        }
        low = start - distance;
        high = start - last;
    }
    for (low++; low < high;) {
        ptrdiff_t middle = low + (high - low) / 2;
        if (comes_before(sort, base + middle * width, key))
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

/* The same, behind equal elements. */
static size_t gallop_right(const struct sort *sort, const char *key, const char *base,
                           size_t length, size_t hint)
{
    size_t width = sort->width;
    ptrdiff_t last = 0, distance = 1, start = hint, low, high;
    if (comes_before(sort, key, base + hint * width)) {
        ptrdiff_t limit = hint + 1;
        while (distance < limit && comes_before(sort, key, base + (start - distance) * width)) {
            last = distance;
            distance = farther(distance, limit);
        }
        low = start - distance;
        high = start - last;
    } else {
        ptrdiff_t limit = length - hint;
        while (distance < limit && !comes_before(sort, key, base + (start + distance) * width)) {
            last = distance;
            distance = farther(distance, limit);
        }
        low = start + last;
        high = start + distance;
    }
    for (low++; low < high;) {
        ptrdiff_t middle = low + (high - low) / 2;
        if (comes_before(sort, key, base + middle * width))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/* Merges two neighbouring runs, of which the first is not longer and is kept aside. */
static void merge_low(struct sort *sort, struct run first, struct run second)
{
    size_t width = sort->width, left = first.length, right = second.length;
    char *kept = sort->kept, *from = at(sort, second.start), *to = at(sort, first.start);
    move(sort, kept, to, left);
    move(sort, to, from, 1);
    to += width, from += width;
    if (--right == 0)
        goto succeed;
    if (left == 1)
        goto copy_right;
    size_t min_gallop = sort->min_gallop;
    for (;;) {
        size_t left_wins = 0, right_wins = 0;
        for (;;) {
            if (comes_before(sort, from, kept)) {
                move(sort, to, from, 1);
                to += width, from += width;
                right_wins++, left_wins = 0;
                if (--right == 0)
                    goto succeed;
                if (right_wins >= min_gallop)
                    break;
            } else {
                move(sort, to, kept, 1);
                to += width, kept += width;
                left_wins++, right_wins = 0;
                if (--left == 1)
                    goto copy_right;
                if (left_wins >= min_gallop)
                    break;
            }
        }
        min_gallop++;
        bool once = true;
        while (left_wins >= MIN_GALLOP || right_wins >= MIN_GALLOP || once) {
            once = false;
            min_gallop = min_gallop > 2 ? min_gallop - 1 : 1;
            sort->min_gallop = min_gallop;
            left_wins = gallop_right(sort, from, kept, left, 0);
            if (left_wins > 0) {
                move(sort, to, kept, left_wins);
                to += left_wins * width, kept += left_wins * width;
                left -= left_wins;
                if (left == 1)
                    goto copy_right;
                /* Only if the comparisons contradict each other. */
                if (left == 0)
                    goto succeed;
            }
            move(sort, to, from, 1);
            to += width, from += width;
            if (--right == 0)
                goto succeed;
            right_wins = gallop_left(sort, kept, from, right, 0);
            if (right_wins > 0) {
                move(sort, to, from, right_wins);
                to += right_wins * width, from += right_wins * width;
                right -= right_wins;
                if (right == 0)
                    goto succeed;
            }
            move(sort, to, kept, 1);
            to += width, kept += width;
            if (--left == 1)
                goto copy_right;
        }
        sort->min_gallop = ++min_gallop;
    }
succeed:
    move(sort, to, kept, left);
    return;
copy_right:
    move(sort, to, from, right);
    move(sort, to + right * width, kept, 1);
}

/* Merges two neighbouring runs, of which the second is shorter and is kept aside, from the end. */
static void merge_high(struct sort *sort, struct run first, struct run second)
{
    size_t width = sort->width, left = first.length, right = second.length;
    char *base = at(sort, first.start), *from = at(sort, first.start + left - 1);
    char *to = at(sort, second.start + right - 1), *kept = sort->kept + (right - 1) * width;
    move(sort, sort->kept, at(sort, second.start), right);
    move(sort, to, from, 1);
    to -= width, from -= width;
    if (--left == 0)
        goto succeed;
    if (right == 1)
        goto copy_left;
    size_t min_gallop = sort->min_gallop;
    for (;;) {
        size_t left_wins = 0, right_wins = 0;
        for (;;) {
            if (comes_before(sort, kept, from)) {
                move(sort, to, from, 1);
                to -= width, from -= width;
                left_wins++, right_wins = 0;
                if (--left == 0)
                    goto succeed;
                if (left_wins >= min_gallop)
                    break;
            } else {
                move(sort, to, kept, 1);
                to -= width, kept -= width;
                right_wins++, left_wins = 0;
                if (--right == 1)
                    goto copy_left;
                if (right_wins >= min_gallop)
                    break;
            }
        }
        min_gallop++;
        bool once = true;
        while (left_wins >= MIN_GALLOP || right_wins >= MIN_GALLOP || once) {
            once = false;
            min_gallop = min_gallop > 2 ? min_gallop - 1 : 1;
            sort->min_gallop = min_gallop;
            left_wins = left - gallop_right(sort, kept, base, left, left - 1);
            if (left_wins > 0) {
                to -= left_wins * width, from -= left_wins * width;
                move(sort, to + width, from + width, left_wins);
                left -= left_wins;
                if (left == 0)
                    goto succeed;
            }
            move(sort, to, kept, 1);
            to -= width, kept -= width;
            if (--right == 1)
                goto copy_left;
            right_wins = right - gallop_left(sort, from, sort->kept, right, right - 1);
            if (right_wins > 0) {
                to -= right_wins * width, kept -= right_wins * width;
                move(sort, to + width, kept + width, right_wins);
                right -= right_wins;
                if (right == 1)
                    goto copy_left;
                if (right == 0)
                    goto succeed;
            }
            move(sort, to, from, 1);
            to -= width, from -= width;
            if (--left == 0)
                goto succeed;
        }
        sort->min_gallop = ++min_gallop;
    }
succeed:
    if (right > 0)
        move(sort, to - (right - 1) * width, sort->kept, right);
    return;
copy_left:
    to -= left * width, from -= left * width;
    move(sort, to + width, from + width, left);
    move(sort, to, kept, 1);
}

/* Merges the pending runs with this number and the next one. */
static void merge_at(struct sort *sort, int number)
{
    struct run first = sort->runs[number], second = sort->runs[number + 1];
    sort->runs[number].length = first.length + second.length;
    if (number == sort->pending - 3)
        sort->runs[number + 1] = sort->runs[number + 2];
    sort->pending--;
    size_t skipped =
        gallop_right(sort, at(sort, second.start), at(sort, first.start), first.length, 0);
    first.start += skipped;
    first.length -= skipped;
    if (first.length == 0)
        return;
    second.length = gallop_left(sort, at(sort, first.start + first.length - 1),
                                at(sort, second.start), second.length, second.length - 1);
    if (second.length == 0)
        return;
    if (first.length <= second.length)
        merge_low(sort, first, second);
    else
        merge_high(sort, first, second);
}

/* Whether the run two before this one is longer than the two behind it. */
static bool is_balanced(const struct sort *sort, int number)
{
    if (number < 2)
        return true;
    const struct run *runs = sort->runs + number - 2;
    return runs[0].length > runs[1].length + runs[2].length;
}

/* Merges pending runs until their lengths decrease fast; all of them at the `end`. */
static void merge_pending(struct sort *sort, bool end)
{
    const struct run *runs = sort->runs;
    while (sort->pending > 1) {
        int number = sort->pending - 2;
        bool unbalanced = !is_balanced(sort, number + 1) || !is_balanced(sort, number);
        if (end || unbalanced) {
            if (number > 0 && runs[number - 1].length < runs[number + 1].length)
                number--;
        } else if (runs[number].length > runs[number + 1].length) {
            return;
        }
        merge_at(sort, number);
    }
}

/* Sorts elements of `width` bytes. `kept` has room for half of them, and at least for one. */
static void sort_array(void *elements, void *kept, size_t length, size_t width,
                       compare_function *compare, void *data)
{
    struct sort sort = {elements, kept, width, compare, data, MIN_GALLOP, {{0}}, 0};
    if (length < 2)
        return;
    size_t start = 0, shortest = shortest_run(length);
    while (start < length) {
        size_t found = count_run(&sort, start, length);
        if (found < shortest) {
            size_t made = length - start < shortest ? length - start : shortest;
            insert_rest(&sort, start, start + found, start + made);
            found = made;
        }
        sort.runs[sort.pending++] = (struct run){start, found};
        merge_pending(&sort, false);
        start += found;
    }
    merge_pending(&sort, true);
}

/* Sorts numbers, which are also in `copy`, so that halves are merged from one to the other. */
static void sort_halves(uint32_t *copy, uint32_t *target, size_t start, size_t end,
                        compare_function *compare, void *data)
{
    size_t middle = start + (end - start) / 2;
    if (middle - start > 1)
        sort_halves(target, copy, start, middle, compare, data);
    if (end - middle > 1)
        sort_halves(target, copy, middle, end, compare, data);
    size_t left = start, right = middle;
    for (size_t to = start; to < end; to++) {
        bool first = left < middle &&
                     (right >= end || compare(&copy[left], &copy[right], data) <= 0);
        target[to] = first ? copy[left++] : copy[right++];
    }
}

#endif
