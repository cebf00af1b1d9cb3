/* `qsort` as in glibc: a merge sort, so it is stable, and comparison functions are called with the
 * same elements in the same order. */
#include <stdlib.h>
#include <string.h>

typedef int compare(const void *, const void *, void *);

struct order {
    size_t size;
    compare *compare;
    void *context;
};

static void merge_sort(char *list, size_t count, char *spare, const struct order *order)
{
    if (count <= 1)
        return;
    size_t size = order->size;
    size_t first_count = count / 2, second_count = count - first_count;
    char *first = list, *second = list + first_count * size, *out = spare;
    merge_sort(first, first_count, spare, order);
    merge_sort(second, second_count, spare, order);
    while (first_count > 0 && second_count > 0) {
        if (order->compare(first, second, order->context) <= 0) {
            memcpy(out, first, size);
            first += size;
            first_count--;
        } else {
            memcpy(out, second, size);
            second += size;
            second_count--;
        }
        out += size;
    }
    memcpy(out, first, first_count * size);
    memcpy(list, spare, (count - second_count) * size);
}

void qsort_r(void *list, size_t count, size_t size, compare *compare, void *context)
{
    struct order order = {size, compare, context};
    char *spare = malloc(count * size);
    if (!spare)
        abort();
    merge_sort(list, count, spare, &order);
    free(spare);
}

static int without_context(const void *one, const void *other, void *context)
{
    return ((int (*)(const void *, const void *))context)(one, other);
}

void qsort(void *list, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    qsort_r(list, count, size, without_context, (void *)compare);
}
