/*
 * test/fault/fault_paths.c - readouts that bring their own path, in bad order and with bad paths,
 * through the real socket: the image of those that are good, to the bit; words for the others
 */
/* Holds: C13 */
#define _GNU_SOURCE
#include "test/support/expect.h"

#include <math.h>

#define PIXELS (32 * 32)

static const char protocols[] =
	"protocols = ( { name = \"own\"; method = \"gridding\"; matrix = [32, 32]; coils = 2;\n"
	"samples = 64; readouts = 32; silence_ms = 60000.0;\n"
	"trajectory: { type = \"stream\"; }; } );\n";

static struct bs_endpoint archive;
static float image[PIXELS];

/* Numbers go on from frame to frame: these are of frame 3. change: what is wrong, or NULL. */
static void say(unsigned line, void (*change)(struct bs_mrd_acq *head, float *k))
{
	_Alignas(8) unsigned char payload[4096];
	size_t n = peer_readout(payload, "own", line, 0);
	struct bs_mrd_acq a;
	size_t at[2];

	(void)bs_mrd_parse_acq(&a, &at[0], &at[1], payload, n, NULL);
	a.idx.kspace_encode_step_1 = (uint16_t)(3 * 32 + line);
	if (change != NULL)
		change(&a, (float *)(void *)(payload + at[0]));
	bs_mrd_put_acq(payload, &a);
	if (a.trajectory_dimensions == 0) { /* its samples follow the header */
		memmove(payload + at[0], payload + at[1], n - at[1]);
		n -= at[1] - at[0];
	}
	(void)peer_say(&p, BS_WIRE_ACQ, p.seq++, payload, n);
}

/* The next image in the archive. */
static bool next_image(struct bs_mrd_image *head)
{
	static unsigned char message[65536];
	const unsigned char *payload;
	struct bs_wire w;
	size_t len;
	size_t at[2];

	if (bs_endpoint_recv(&archive, message, sizeof(message), &len, AWAIT_MS, NULL) != 0 ||
	    bs_wire_decode(&w, message, len, &payload, NULL) != 0 ||
	    bs_mrd_parse_image(head, &at[0], &at[1], payload, (size_t)w.payload_len, NULL) != 0)
		return false;
	memcpy(image, payload + at[1], sizeof(image));
	return true;
}

static float want[PIXELS];

static void in_order(void)
{
	struct bs_mrd_image head = { 0 };
	double power = 0.0;

	CHECK(peer_begin(&p, "own"), "a scan begins %s", p.answer.text);
	for (unsigned i = 0; i < 32; i++)
		say(i, NULL);
	(void)peer_end(&p, 32);
	expect_outcome("in order", 0);
	CHECK(next_image(&head) && head.repetition == 3, "frame %u of numbers that go on",
	      head.repetition);
	memcpy(want, image, sizeof(want));
	for (int v = 0; v < PIXELS; v++)
		power += (double)want[v];
	CHECK(power > 0.0, "there is something in it");
}

static void out_of_order(void)
{
	struct bs_mrd_image head = { 0 };

	CHECK(peer_begin(&p, "own"), "a scan begins");
	for (unsigned i = 0; i < 32; i += 4) /* 3 2 1 0, 7 6 5 4, ...; the second comes twice */
		for (unsigned j = 4; j-- > 0;) {
			p.seq = 1 + i + j;
			say(i + j, NULL);
			p.seq -= j == 2;
			if (j == 2)
				say(i + j, NULL);
		}
	p.seq = 33;
	(void)peer_end(&p, 32);
	expect_outcome("out of order", 0);
	CHECK(p.outcome.duplicates == 8 && next_image(&head) &&
		      memcmp(image, want, sizeof(want)) == 0,
	      "the same image, to the bit");
}

/* The numbers of the scan, not of the messages, in another order. */
static void other_order(void)
{
	struct bs_mrd_image head = { 0 };

	CHECK(peer_begin(&p, "own"), "a scan begins");
	for (unsigned i = 0; i < 32; i++)
		say(i * 11 % 32, NULL);
	(void)peer_end(&p, 32);
	expect_outcome("another order of spokes", 0);
	CHECK(next_image(&head) && memcmp(image, want, sizeof(want)) == 0,
	      "the same image, to the bit");
}

static void no_path(struct bs_mrd_acq *head, float *k)
{
	(void)k;
	head->trajectory_dimensions = 0;
}

static void no_number(struct bs_mrd_acq *head, float *k)
{
	(void)head;
	k[20] = NAN;
}

static void too_far(struct bs_mrd_acq *head, float *k)
{
	(void)head;
	k[127] = -0.75f;
}

static void bad_paths(void)
{
	static const struct {
		void (*change)(struct bs_mrd_acq *head, float *k);
		const char *words;
	} bad[] = {
		{ no_path, "acquisition 5 carries no trajectory" },
		{ no_number, "acquisition 5: sample 10 has kx = " },
		{ too_far, "acquisition 5: sample 63 has ky = -0.75, out of range" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bs_mrd_image head = { 0 };

		CHECK(peer_begin(&p, "own"), "a scan begins");
		for (unsigned line = 0; line < 32; line++)
			say(line, line == 4 ? bad[i].change : NULL);
		(void)peer_end(&p, 32);
		expect_outcome("a bad path", BS_ERR_TRAJECTORY);
		CHECK(strstr(p.outcome.text, bad[i].words) != NULL && p.outcome.rejected == 1 &&
			      p.outcome.images == 1,
		      "one readout is refused in words, the others make an image: %s",
		      p.outcome.text);
		CHECK(logged(BS_ERR_TRAJECTORY, bad[i].words), "and the log says so");
		CHECK(next_image(&head) && memcmp(image, want, sizeof(want)) != 0,
		      "which is another one");
	}
}

int main(void)
{
	bool up = service_start_with(&service, SERVICE_PATIENT, protocols, NULL);

	CHECK(up, "the service starts");
	CHECK(peer_open(&p, &service), "a sender connects");
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, 65536, NULL) ==
			      0 &&
		      (!up || service_meets(&service, &archive)),
	      "an archive connects");
	if (up) {
		in_order();
		out_of_order();
		other_order();
		bad_paths();
	}
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0,
	      "no slot of the pool was lost");
	bs_endpoint_close(&archive);
	peer_close(&p);
	return service_end(&service);
}
