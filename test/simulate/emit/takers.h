/*
 * test/simulate/emit/takers.h - who takes images: those that ask, the archive that is sent to, and
 * folders of files
 *
 * Each keeps its own book, and what it has on its disk, whatever happens to the service. All of
 * them lie on other machines: a loss of power is the service's. turn: one step of one of them;
 * between any two it may stop or die.
 */
#ifndef BS_TEST_SIMULATE_EMIT_TAKERS_H
#define BS_TEST_SIMULATE_EMIT_TAKERS_H

#include "test/simulate/simulate.h"

/* askers.c: an archive that asks keeps the image, then its number, then asks again. */
void askers_reset(unsigned number);
bool askers_turn(void); /* False: there is nothing to do before askers_due. */
int64_t askers_due(void);
void askers_calm(void);
bool askers_rest(void); /* each has been told that nothing follows */
void askers_more(void); /* something may follow now */
void askers_judge(uint64_t named);
void askers_stored(unsigned i); /* those that the service knows are to have it */
void askers_forgotten(void);    /* it may know none of them any more */
/* The service's answer to a question, as it gets there or not. */
void askers_hear(unsigned asker, uint64_t id, const unsigned char *msg, size_t len);

/* puller.c: an archive that is sent to has an image when it is out of the connection. */
void puller_reset(bool is_there);
bool puller_turn(void);
int64_t puller_due(void);
void puller_calm(void);
bool puller_rests(void);

/* files.c: folders. */
void sinks_reset(void);
void sinks_calm(void);
unsigned sinks_refused(void); /* images that cannot be filed, so far */

/* Faults. False: not now. */
bool askers_stop(int64_t until_ns);
bool askers_killed(int64_t until_ns);
bool askers_ask_twice(void);
bool askers_lose_answer(void);
bool puller_stop(int64_t until_ns);
bool puller_killed(int64_t until_ns);
bool sinks_refuse(int64_t until_ns); /* nothing can be written: EROFS */
bool sinks_hang(int64_t ns);         /* one file takes so long */
bool sinks_refuse_one(void);         /* one image cannot be filed at all */

#endif
