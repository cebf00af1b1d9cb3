// `operator new` and `operator delete` of the library. Its other forms call these two.

#include <cstdlib>
#include <new>

extern "C" {

// Those of the program, if it replaces them (`start.c`).
void* (*assay_replaced_new)(std::size_t);
void (*assay_replaced_delete)(void*);

void* assay_new(std::size_t size)
{
    for (;;) {
        if (void* memory = std::malloc(size))
            return memory;
        std::new_handler handler = std::get_new_handler();
        if (!handler)
            throw std::bad_alloc();
        handler();
    }
}
}

void* operator new(std::size_t size)
{
    return assay_replaced_new ? assay_replaced_new(size) : assay_new(size);
}

void operator delete(void* memory) noexcept
{
    if (assay_replaced_delete)
        assay_replaced_delete(memory);
    else
        std::free(memory);
}
