/*
 * board/status/rows.h - how a row of the status' table says where its value lies
 *
 * For the files that have such rows, and no others: the names are short so that a row is a line.
 */
#ifndef BS_BOARD_STATUS_ROWS_H
#define BS_BOARD_STATUS_ROWS_H

#include "board/status/table.h"

/* Names a field's type for its row; other types do not compile. */
#define TYPE(field)                                                                                \
	_Generic((field),                                                                          \
		uint32_t: BS_TYPE_COUNT,                                                           \
		int32_t: BS_TYPE_SIGNED,                                                           \
		uint64_t: BS_TYPE_COUNT,                                                           \
		int64_t: BS_TYPE_SIGNED,                                                           \
		double: BS_TYPE_REAL,                                                              \
		bool: BS_TYPE_BOOL,                                                                \
		char *: BS_TYPE_CHARS,                                                             \
		const char *: BS_TYPE_STRING,                                                      \
		struct bs_hist: BS_TYPE_HIST,                                                      \
		const struct bs_hist *: BS_TYPE_HIST_AT)
#define BYTES(field)                                                                               \
	_Generic((field), const char * : SIZE_MAX, default : sizeof(__typeof__(field)[1]))
#define SHARED ((struct bs_shared *)0)

/* Places of values in shared memory: a field, a field in a list, an item, a
 * list within each item. */
#define IN(field)                                                                                  \
	.type = TYPE(SHARED->field), .at = offsetof(struct bs_shared, field),                      \
	.bytes = BYTES(SHARED->field)
#define EACH(list, field) IN(list[0].field), .step = { sizeof(SHARED->list[0]) }
#define ITEM(list)        IN(list[0]), .step = { sizeof(SHARED->list[0]) }
#define EACH_OF(list, inner)                                                                       \
	IN(list[0].inner[0]), .step = { sizeof(SHARED->list[0]), sizeof(SHARED->list[0].inner[0]) }
/* Places of values elsewhere: a field of a view, a constant, the word for an index in the list. */
#define VIEW(view, field)                                                                          \
	.from = BS_FROM_VIEW, .type = TYPE(((struct view *)0)->field),                             \
	.at = offsetof(struct view, field), .bytes = BYTES(((struct view *)0)->field)
#define FIXED(object)                                                                              \
	.from = BS_FROM_FIXED, .type = TYPE(object), .fixed = &(object), .bytes = BYTES(object)
#define PLACE(names)                                                                               \
	.from = BS_FROM_PLACE, .type = BS_TYPE_COUNT, .bytes = sizeof(uint32_t), .word = (names)
#define COUNTER .metric = BS_COUNTER
#define GAUGE   .metric = BS_GAUGE
#define WHEN(...)                                                                                  \
	.when = &(const struct bs_row)                                                             \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* Number of items: that a list has, or that a ring of fixed size ever had. */
#define NUMBER(field)                                                                              \
	.number = offsetof(struct bs_shared, field) + _Generic(SHARED->field, uint32_t : 0)
#define RING(field, length)                                                                        \
	.ring = offsetof(struct bs_shared, field) + _Generic(SHARED->field, uint64_t : 0),         \
	.places = (length)

/* Returns the view that a row's function fills, a structure of this type. */
#define FILL(type, x)                                                                              \
	((struct type *)(void *)((x)->view +                                                       \
				 0 * sizeof(char[sizeof(struct type) <= BS_VIEW_BYTES ? 1 : -1])))

#endif
