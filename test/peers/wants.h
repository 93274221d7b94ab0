/*
 * test/peers/wants.h - what a console of Siemens' was seen to want of an image's meta attributes
 * and of words, and what it rejects or shows upside down
 */
#ifndef BS_TEST_PEERS_WANTS_H
#define BS_TEST_PEERS_WANTS_H

#include "test/peers/console.h"

/* "": all of it. directions: those of a row along -x, a column along y. */
const char *wants_meta(const struct console_image *m, bool directions);
/* Each line of words has a level, padded to 8. */
bool wants_levels(const struct console *c);

#endif
