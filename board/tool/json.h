/*
 * board/tool/json.h - reads the service's own status document, without building anything
 *
 * object: text that begins with '{'. member: where the value of a key begins, *len its length;
 * NULL: it is not there, or the text is no JSON. Keys are compared as they are written, with
 * escapes.
 * first, next: the elements of an array. Allocates nothing. Test: test/unit/board/tool/test_json.c
 */
#ifndef BS_BOARD_TOOL_JSON_H
#define BS_BOARD_TOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>

const char *bs_json_member(const char *object, const char *key, size_t *len);
/* *value stays as it is when there is no such number. */
bool bs_json_number(const char *object, const char *key, double *value);
/* The text with its escapes taken out; "" when there is none. */
void bs_json_text(const char *object, const char *key, char *out, size_t cap);
/* NULL: none, or no more. */
const char *bs_json_first(const char *array, size_t *len);
const char *bs_json_next(const char *element, size_t *len);

#endif
