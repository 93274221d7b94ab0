/*
 * ipc/wire/answer.h - the payload of ANSWER: 64 bytes, then up to 64 numbers (core/answer/answer.h)
 *
 * The layout, byte by byte, is in ipc/WIRE.md; this is its one encoder and its one decoder. Nothing
 * here allocates, blocks or keeps state. Tests: test/unit/ipc/test_wire.c, test/fuzz/fuzz_wire.c
 */
#ifndef BS_IPC_WIRE_ANSWER_H
#define BS_IPC_WIRE_ANSWER_H

#include "core/answer/answer.h"
#include "core/err.h"

#define BS_WIRE_ANSWER_HEAD 64u
#define BS_WIRE_ANSWER_MAX  (BS_WIRE_ANSWER_HEAD + 8u * BS_ANSWER_NUMBERS)

/* Returns the payload's bytes. */
size_t bs_wire_put_answer(unsigned char out[BS_WIRE_ANSWER_MAX], const struct bs_answer *a);
/* BS_ERR_LENGTH; BS_ERR_VALUE: there is no such answer, or more numbers than there may be. */
int bs_wire_get_answer(struct bs_answer *a, const unsigned char *p, size_t len,
		       struct bs_fail *why);

#endif
