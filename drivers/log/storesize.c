/* drivers/log/storesize.c - disk and memory that a store of images needs; see store.h */
#include "drivers/log/store.h"

#define SEGMENTS 8u                   /* files that most_bytes is divided among */
#define MOST     (UINT64_C(64) << 20) /* most bytes of one file */

size_t bs_store_answer_max(size_t message_max)
{
	return BS_STORE_HEAD + message_max;
}

uint64_t bs_store_segment(size_t message_max, uint64_t most_bytes)
{
	const uint64_t least = (bs_log_writer_bytes(bs_store_answer_max(message_max)) +
				(uint64_t)5 * BS_LOG_BLOCK) /
			       BS_LOG_BLOCK * BS_LOG_BLOCK;
	uint64_t bytes = most_bytes / SEGMENTS / BS_LOG_BLOCK * BS_LOG_BLOCK;

	bytes = bytes < MOST ? bytes : MOST;
	return bytes > least ? bytes : least;
}

uint64_t bs_store_memory(size_t message_max)
{
	const size_t answer = bs_store_answer_max(message_max);

	return bs_log_writer_bytes(answer) + (uint64_t)2 * answer;
}
