/* test/unit/ipc/test_wiremd.c - the specification's own example and tables against the code
 * (ipc/WIRE.md) */
/* Holds: W69 */
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"
#include "test/support/check.h"

#include <string.h>

#define PAGE "ipc/WIRE.md"

static char page[128 * 1024];

/* Lines "0010  ef cd ..." into bytes; the offsets must be the bytes' own. Returns the length. */
static size_t read_dump(unsigned char *out, size_t cap)
{
	const char *line = strstr(page, "```\n0000  ");
	size_t n = 0;

	if (line == NULL)
		return 0;
	for (line = strchr(line, '\n') + 1; strncmp(line, "```", 3) != 0;
	     line = strchr(line, '\n') + 1) {
		unsigned at;
		int used;

		if (sscanf(line, "%4x %n", &at, &used) != 1 || at != n)
			return 0;
		for (const char *p = line + used; *p != '\n'; p += *p == ' ') {
			unsigned byte;

			if (n == cap || sscanf(p, "%2x", &byte) != 1)
				return 0;
			out[n++] = (unsigned char)byte;
			p += 2;
		}
	}
	return n;
}

static void check_message(const unsigned char *msg, size_t len)
{
	static const float traj[] = { -0.25f, 0.125f, 0.25f, -0.5f };
	static const float data[] = { 1, -1, 0.5f, 2, -3, 0.25f, 0, 100 };
	const unsigned char *payload;
	unsigned char again[1024];
	struct bs_mrd_acq a;
	struct bs_wire w;
	struct bs_fail why = { 0 };
	size_t traj_at;
	size_t data_at;
	int rc = bs_wire_decode(&w, msg, len, &payload, &why);

	CHECK(rc == 0, "the dump decodes: %s", why.text);
	if (rc != 0)
		return;
	CHECK(w.kind == BS_WIRE_ACQ && w.session == UINT64_C(0x0123456789abcdef) && w.seq == 42 &&
		      w.time_ns == INT64_C(1700000000105000000) && w.crc == 0x16d73938u,
	      "envelope as the page says");
	rc = bs_mrd_parse_acq(&a, &traj_at, &data_at, payload, (size_t)w.payload_len, &why);
	CHECK(rc == 0, "its acquisition parses: %s", why.text);
	if (rc != 0)
		return;
	CHECK(a.scan_counter == 42 && a.acquisition_time_stamp == 14760000 && a.flags == 3 &&
		      a.number_of_samples == 2 && a.active_channels == 2 &&
		      a.available_channels == 2 && a.trajectory_dimensions == 2 &&
		      a.sample_time_us == 5.0f && a.idx.kspace_encode_step_1 == 41 &&
		      a.idx.repetition == 3 && a.user_int[0] == 105000 && a.read_dir[0] == 1.0f &&
		      a.phase_dir[1] == 1.0f && a.slice_dir[2] == 1.0f,
	      "header as the page says");
	CHECK(memcmp(payload + traj_at, traj, sizeof(traj)) == 0 &&
		      memcmp(payload + data_at, data, sizeof(data)) == 0,
	      "trajectory and samples as the page says");
	bs_mrd_put_acq(again + BS_WIRE_BYTES, &a);
	memcpy(again + BS_WIRE_BYTES + BS_MRD_ACQ_BYTES, traj, sizeof(traj));
	memcpy(again + BS_WIRE_BYTES + BS_MRD_ACQ_BYTES + sizeof(traj), data, sizeof(data));
	bs_wire_encode(again, &w, again + BS_WIRE_BYTES, (size_t)w.payload_len);
	CHECK(memcmp(again, msg, len) == 0, "encoded again it is the same %zu bytes", len);
}

/* Every code of core/err.h has its row "| -11 | BS_ERR_CRC | ...". */
static void check_errors(void)
{
	int missing = 0;

	for (int code = -1; code > BS_ERR_LAST; code--) {
		char row[64];

		(void)snprintf(row, sizeof(row), "\n| %d | %s | ", code, bs_err_name(code));
		missing += strstr(page, row) == NULL;
	}
	CHECK(missing == 0, "every error has its row (%d have not)", missing);
}

/* Every kind of message that the decoder knows has its row, and no other number has one. */
static void check_kinds(void)
{
	static const struct {
		int kind;
		const char *name;
	} kinds[] = {
		{ BS_WIRE_OPEN, "OPEN" },           { BS_WIRE_ACQ, "ACQ" },
		{ BS_WIRE_WAVEFORM, "WAVEFORM" },   { BS_WIRE_CLOSE, "CLOSE" },
		{ BS_WIRE_HEARTBEAT, "HEARTBEAT" }, { BS_WIRE_ACCEPT, "ACCEPT" },
		{ BS_WIRE_REFUSE, "REFUSE" },       { BS_WIRE_ACK, "ACK" },
		{ BS_WIRE_OUTCOME, "OUTCOME" },     { BS_WIRE_IMAGE, "IMAGE" },
		{ BS_WIRE_NEXT, "NEXT" },           { BS_WIRE_STORED, "STORED" },
		{ BS_WIRE_NONE, "NONE" },           { BS_WIRE_ANSWER, "ANSWER" },
	};
	unsigned known = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char row[64];

		(void)snprintf(row, sizeof(row), "\n| %d | %s | ", kinds[i].kind, kinds[i].name);
		CHECK(strstr(page, row) != NULL && bs_wire_kind_known((unsigned)kinds[i].kind),
		      "kind %d is %s", kinds[i].kind, kinds[i].name);
	}
	for (unsigned k = 0; k < 65536; k++)
		known += bs_wire_kind_known(k);
	CHECK(known == sizeof(kinds) / sizeof(kinds[0]), "no other kind is known (%u)", known);
}

int main(void)
{
	static unsigned char msg[4096];
	FILE *f = fopen(PAGE, "rb");
	size_t len;

	if (f == NULL) {
		SKIP("%s is not here: run from the repository's root", PAGE);
		return 0;
	}
	len = fread(page, 1, sizeof(page) - 1, f);
	(void)fclose(f);
	CHECK(len > 0 && len < sizeof(page) - 1, "the page is read whole");
	len = read_dump(msg, sizeof(msg));
	CHECK(len == BS_WIRE_BYTES + 340 + 16 + 32, "the dump holds %zu bytes", len);
	check_message(msg, len);
	check_errors();
	check_kinds();
	return check_done();
}
