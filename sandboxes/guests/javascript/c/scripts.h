/* The scripts of this guest, which the build embeds in the image. */
#ifndef ASSAY_SCRIPTS_H
#define ASSAY_SCRIPTS_H

#include <stddef.h>

struct script {
    const char *name;
    const char *text;
    size_t length;
};

/* Ends with an entry without a name. */
extern const struct script scripts[];

#endif
