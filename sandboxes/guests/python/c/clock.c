/* Processor time, which WASI lacks: the value of the host's monotonic clock.
 * The C library would subtract the time at which it started, which is before
 * the snapshot and belongs to the clock of another run.
 */
#include "pyconfig.h"

#include <sys/times.h>
#include <time.h>

clock_t clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec;
}

/* In the units of `sysconf(_SC_CLK_TCK)`. */
clock_t times(struct tms *spent)
{
    clock_t now = clock() / (CLOCKS_PER_SEC / 100);
    *spent = (struct tms){.tms_utime = now};
    return now;
}
