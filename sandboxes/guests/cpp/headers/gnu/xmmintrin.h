// There are no vector instructions of x86 here. Many programs include this header only for a pragma
// that asks for them, which is ignored.
#pragma once
