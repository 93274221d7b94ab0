/*
 * test/peers/console.h - a console over MRD's TCP protocol, byte by byte
 *
 * Nothing of the project's is in it: messages, headers and the order of a session are MRD's public
 * text and what scanners, converters and clients were seen to send. It is no cleverer than they
 * are: it sends what it is told, and reads until the connection ends.
 *
 * connect -> { name | script | header | text | readout | waveform | image | close }* -> listen ->
 * end. What came is in its books. Reads and writes end after CONSOLE_MS: a hang.
 */
#ifndef BS_TEST_PEERS_CONSOLE_H
#define BS_TEST_PEERS_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONSOLE_MS     60000
#define CONSOLE_IMAGES 64u

struct console_readout {
	uint64_t flags; /* bit n - 1 is MRD's flag n */
	uint32_t counter;
	uint16_t samples, channels, center, dimensions;
	uint16_t line, partition, average, slice, contrast, repetition, set, segment;
	float dwell_us;
	float position[3], read[3], phase[3], slice_dir[3];
	const float *trajectory, *data;
};

struct console_image {
	unsigned type, channels, kind, index, series, slice, contrast, repetition;
	unsigned size[3];
	float fov[3], position[3], read[3], phase[3], slice_dir[3];
	char *meta;            /* ends in a zero */
	unsigned char *pixels; /* x fastest */
	size_t bytes;
};

struct console {
	int fd;
	struct console_image image[CONSOLE_IMAGES];
	unsigned images, texts, waveforms;
	char said[4096]; /* all TEXTs, a line each */
	char noise[512]; /* the answer to a question about noise */
	bool closed;     /* CLOSE came */
	bool ended;      /* and then, at once, the end of the connection */
	char wrong[128]; /* what came that may not come; "": nothing */
};

/* receive: bytes of the socket's buffer, 0: the system's. */
bool console_connect(struct console *c, int port, int receive);
bool console_name(struct console *c, const char *config);
/* Ids 2, 3, 5. zero: one more byte, as some clients send. */
bool console_say(struct console *c, unsigned id, const char *text, bool zero);
bool console_readout(struct console *c, const struct console_readout *r);
/* Its first bytes alone. */
bool console_cut_readout(struct console *c, const struct console_readout *r, size_t bytes);
bool console_waveform(struct console *c, unsigned id);
/* An image of type int16, n x n, with these values, of a series. */
bool console_send_image(struct console *c, const int16_t *values, unsigned n, unsigned series,
			unsigned index, const char *meta);
bool console_close(struct console *c);
/* Everything until the connection ends. */
void console_listen(struct console *c);
/* One byte of what comes, which is then not in the books. */
bool console_sip(struct console *c);
void console_end(struct console *c);

#endif
