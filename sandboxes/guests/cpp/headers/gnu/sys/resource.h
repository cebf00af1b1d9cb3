/* <sys/resource.h> with limits of processes, which programs raise to nest calls more deeply. The
 * sandbox has one stack, so setting a limit has no effect. */
#include_next <sys/resource.h>

#ifndef ASSAY_SYS_RESOURCE_H
#define ASSAY_SYS_RESOURCE_H

typedef unsigned long rlim_t;

struct rlimit {
    rlim_t rlim_cur;
    rlim_t rlim_max;
};

#define RLIM_INFINITY (~0UL)
#define RLIMIT_CPU 0
#define RLIMIT_FSIZE 1
#define RLIMIT_DATA 2
#define RLIMIT_STACK 3
#define RLIMIT_CORE 4
#define RLIMIT_RSS 5
#define RLIMIT_NPROC 6
#define RLIMIT_NOFILE 7
#define RLIMIT_MEMLOCK 8
#define RLIMIT_AS 9

static inline int getrlimit(int resource, struct rlimit *limit)
{
    limit->rlim_cur = resource == RLIMIT_STACK ? 8UL << 20 : RLIM_INFINITY;
    limit->rlim_max = RLIM_INFINITY;
    return 0;
}

static inline int setrlimit(int resource, const struct rlimit *limit)
{
    (void)resource;
    (void)limit;
    return 0;
}

#endif
