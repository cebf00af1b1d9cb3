// The buffers of `std::cin` and of the output streams. They replace those of libc++, which read and
// write single characters.
#ifndef ASSAY_STANDARD_STREAMS_H
#define ASSAY_STANDARD_STREAMS_H

#include <cstdio>
#include <streambuf>

extern "C" {
size_t assay_take_input(unsigned char** first);
extern void (*assay_return_input)(unsigned char** next, unsigned char** end);
}

_LIBCPP_BEGIN_NAMESPACE_STD

template <class _CharT>
class __assay_input : public basic_streambuf<_CharT> {
public:
  using int_type = typename basic_streambuf<_CharT>::int_type;

  __assay_input(FILE*, mbstate_t*) {
    __only     = this;
    assay_return_input = __give_back;
  }

protected:
  int_type underflow() override {
    bool __has_last = this->gptr() != this->eback();
    char __last     = __has_last ? this->gptr()[-1] : 0;
    unsigned char* __first;
    size_t __size = assay_take_input(&__first);
    if (__size == 0)
      return EOF;
    char* __start = reinterpret_cast<char*>(__first);
    if (__has_last)
      __start[-1] = __last;
    this->setg(__start - __has_last, __start, __start + __size);
    return *__first;
  }

private:
  static inline __assay_input* __only;

  static void __give_back(unsigned char** __next, unsigned char** __end) {
    *__next = reinterpret_cast<unsigned char*>(__only->gptr());
    *__end  = reinterpret_cast<unsigned char*>(__only->egptr());
    __only->setg(nullptr, nullptr, nullptr);
  }
};

template <class _CharT>
class __assay_output : public basic_streambuf<_CharT> {
public:
  using int_type = typename basic_streambuf<_CharT>::int_type;

  __assay_output(FILE* __file, mbstate_t*) : __file_(__file) {}

protected:
  int_type overflow(int_type __c) override { return __c == EOF ? 0 : putc(__c, __file_); }
  streamsize xsputn(const _CharT* __text, streamsize __size) override {
    return fwrite(__text, 1, __size, __file_);
  }
  int sync() override { return fflush(__file_); }

private:
  FILE* __file_;

  friend FILE* __get_ostream_file(ostream&);
};

_LIBCPP_END_NAMESPACE_STD

#endif
