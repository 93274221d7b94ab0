/*
 * test/fault/fault_alloc.c - once armed, ingest and recon allocate nothing, nor does a library for
 * them: a preloaded malloc counts over 1,000 frames, and tells by its address whose call it was
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "drivers/file/cfl.h"
#include "test/support/alloc_hook.h"
#include "test/support/service.h"

#define FRAMES 1000u
#define WARM   20u
/* Recon leaves previews out when fewer than two image slots are free (board/recon/recon.c). Emit
 * gives a slot back when its image lies in no connection any more, in its own time: so many frames
 * of two images go by before it is asked whether so many slots are free. */
#define SLOTS    64
#define UNSEEN   ((SLOTS - 2) / 2)
#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

/*
 * Every host method, and all that is made from the scan, corrected by a field map or joined; ls by
 * both sums and both preconditioners, along paths that come with the readouts, and down the ladder
 * to its end.
 */
/* clang-format off */
#define PROTOCOL(name, method, more) \
	"{ name = \"" name "\"; method = \"" method "\"; " SERVICE_SPOKES more " },\n"
#define CART(name, readouts, more) \
	"{ name = \"" name "\"; method = \"cartesian\"; matrix = [32, 32]; coils = 2;\n" \
	"encoded = [64, 32, 1]; samples = 64; silence_ms = 60000.0; readouts = " readouts "; " \
	more " },\n"
#define FIELD "field: { map_file = \"field\"; dwell_us = 5.0; }; "
#define LS "ls: { lambda = 0.01; iterations = 3; "
static const char protocols[] = "protocols = (\n" SERVICE_CART
	PROTOCOL("gridding", "gridding", "image: { matrix = [48, 40]; };")
	PROTOCOL("ls_exact", "ls",
		 LS "fhd = \"exact\"; q = \"exact\"; preconditioner = \"circulant\"; };")
	PROTOCOL("ls_nufft", "ls", LS "preconditioner = \"jacobi\"; };")
	PROTOCOL("compressed", "gridding",
		 FIELD "virtual_coils = 1; noise: { whiten = \"auto\"; };")
	PROTOCOL("slide", "gridding", "frame: { step = 16; };")
	"{ name = \"slide_stream\"; method = \"ls\"; matrix = [32, 32]; coils = 2; samples = 64;\n"
	"readouts = 32; silence_ms = 60000.0; trajectory: { type = \"stream\"; };\n"
	"gridding: { density = \"pipe\"; density_iterations = 2; }; frame: { step = 16; }; "
	LS "preconditioner = \"jacobi\"; }; },\n"
	PROTOCOL("previews", "gridding", "frame: { preview_every = 31; };")
	PROTOCOL("previews_ls", "ls",
		 LS "}; frame: { preview_every = 31; }; image: { matrix = [21, 64]; };")
	PROTOCOL("sheds", "ls", "ls: { lambda = 0.01; iterations = 4; };\n"
		 "budget: { image_ms = 1e-6; on_miss = \"shed\"; admission = \"trust\"; };")
	CART("cart_grappa", "22", "parallel = \"grappa\";")
	CART("cart_sense", "22",
	     "parallel = \"sense\"; image: { maps = \"espirit\"; }; " LS "};")
	CART("cart_walsh", "24", "image: { combine = \"sense\"; maps = \"walsh\"; };\n"
	     "partial_fourier = \"pocs\"; pocs: { iterations = 3; }; averages = 2;")
	CART("cart_epi", "32", "epi: { correct = true; }; navigators = \"phase\";\n"
	     "virtual_coils = 1; compression = \"geometric\"; image: { volume = true; };")
	PROTOCOL("field_sense", "sense", FIELD LS "}; image: { maps_file = \"maps\"; };")
	"{ name = \"noop\"; method = \"noop\"; " SERVICE_SPOKES "} );\n";
/* clang-format on */

static struct service service;
static struct peer p;
static struct bs_endpoint archive;
static struct alloc_counts *now, before;

/* A pass ends two groups of a window, but the first image waits for all of it; one preview a frame.
 */
static unsigned images_of(const char *protocol, unsigned frame)
{
	if (strncmp(protocol, "slide", 5) == 0)
		return frame == 0 ? 1 : 2;
	return strncmp(protocol, "previews", 8) == 0 ? 2 : 1;
}

/* Lines of the frame: all, those that parallel imaging leaves, or those of partial Fourier. */
static bool has_line(const char *protocol, unsigned line)
{
	if (strcmp(protocol, "cart_grappa") == 0 || strcmp(protocol, "cart_sense") == 0)
		return line % 2 == 0 || (line > 9 && line < 22);
	return strcmp(protocol, "cart_walsh") != 0 || line >= 8;
}

static unsigned averages_of(const char *protocol)
{
	return strcmp(protocol, "cart_walsh") == 0 ? 2 : 1;
}

static bool send_readout(const char *protocol, unsigned line, unsigned frame, unsigned average,
			 uint64_t flags)
{
	_Alignas(8) unsigned char payload[4096];
	size_t n = peer_readout(payload, protocol, line, frame);
	struct bs_mrd_acq a;
	size_t at[2];

	if (bs_mrd_parse_acq(&a, &at[0], &at[1], payload, n, NULL) != 0)
		return false;
	a.flags = flags;
	a.idx.average = (uint16_t)average;
	bs_mrd_put_acq(payload, &a);
	return peer_say(&p, BS_WIRE_ACQ, p.seq++, payload, n);
}

/* Calibration lines are new ones now and then: maps and weights are made again. */
static bool send_lines(const char *protocol, unsigned frame)
{
	const bool epi = strcmp(protocol, "cart_epi") == 0;
	bool good = true;

	for (unsigned i = 0; epi && good && i < 3; i++)
		good = send_readout(protocol, 16, frame, 0,
				    BS_MRD_IS_PHASE_CORRECTION | (i == 1 ? BS_MRD_IS_REVERSE : 0));
	if (epi)
		good = good && send_readout(protocol, 16, frame, 0, BS_MRD_IS_NAVIGATION);
	for (unsigned n = 0; good && n < 32 * averages_of(protocol); n++) {
		const unsigned i = n % 32;
		const bool calibrates = frame % 32 == 0 && i > 9 && i < 22;

		if (has_line(protocol, i))
			good = send_readout(protocol, i, frame, n / 32,
					    (calibrates ? BS_MRD_IS_CALIBRATION_TOO : 0) |
						    (epi && i % 2 == 1 ? BS_MRD_IS_REVERSE : 0));
	}
	return good;
}

static unsigned messages_of(const char *protocol)
{
	unsigned n = strcmp(protocol, "cart_epi") == 0 ? 4 : 0;

	for (unsigned i = 0; i < 32; i++)
		n += has_line(protocol, i) * averages_of(protocol);
	return n;
}

static bool slots_free(void)
{
	const long most = service_number(&service, ":\"images\"", "slots") - SLOTS;

	AWAIT(service_number(&service, "\"images\",\"slots\"", "in_use") <= most);
	return service_number(&service, "\"images\",\"slots\"", "in_use") <= most;
}

static bool send_frame(const char *protocol, unsigned frame)
{
	static unsigned char image[65536];
	size_t len;

	if (frame % UNSEEN == 0 && !slots_free())
		return false;

	if (!send_lines(protocol, frame))
		return false;
	for (unsigned i = 0; i < images_of(protocol, frame); i++)
		if (bs_endpoint_recv(&archive, image, sizeof(image), &len, AWAIT_MS, NULL) != 0)
			return false;
	return true;
}

static void check_row(enum alloc_row row, const char *name, const char *protocol)
{
	uint64_t taken[ALLOC_WHO];
	uint64_t freed[ALLOC_WHO];

	for (int i = 0; i < ALLOC_WHO; i++) {
		taken[i] = now->row[row].taken[i] - before.row[row].taken[i];
		freed[i] = now->row[row].freed[i] - before.row[row].freed[i];
	}
	CHECK(taken[ALLOC_OURS] == 0 && freed[ALLOC_OURS] == 0,
	      "%s, %s: our code took %llu and freed %llu in %u frames (last at %llx)", name,
	      protocol, (unsigned long long)taken[ALLOC_OURS],
	      (unsigned long long)freed[ALLOC_OURS], FRAMES,
	      (unsigned long long)now->row[row].ours_at);
	CHECK((taken[ALLOC_OTHER] == 0 && freed[ALLOC_OTHER] == 0) ||
		      (CHECK_GPU && taken[ALLOC_OTHER] == freed[ALLOC_OTHER]),
	      "%s, %s: libraries took %llu and freed %llu (last at %llx)", name, protocol,
	      (unsigned long long)taken[ALLOC_OTHER], (unsigned long long)freed[ALLOC_OTHER],
	      (unsigned long long)now->row[row].other_at);
	CHECK(taken[ALLOC_NANOMSG] == 0 && freed[ALLOC_NANOMSG] == 0,
	      "%s, %s: nanomsg took %llu, freed %llu", name, protocol,
	      (unsigned long long)taken[ALLOC_NANOMSG], (unsigned long long)freed[ALLOC_NANOMSG]);
	CHECK(now->row[row].taken[ALLOC_OURS] > 0, "%s: the hook saw what it took to start", name);
}

static void test_protocol(const char *protocol)
{
	unsigned frame = 0;
	bool good = peer_begin(&p, protocol);

	for (; good && frame < WARM; frame++)
		good = send_frame(protocol, frame);
	while (good && p.acked < WARM * messages_of(protocol))
		good = peer_await(&p, BS_WIRE_ACK);
	memcpy(&before, now, sizeof(before));
	for (; good && frame < WARM + FRAMES; frame++)
		good = send_frame(protocol, frame);
	CHECK(good, "%s: %u frames went through", protocol, FRAMES);
	check_row(ALLOC_INGEST, "ingest", protocol);
	check_row(ALLOC_RECON, "recon", protocol);
	CHECK(peer_end(&p, (uint64_t)(WARM + FRAMES) * messages_of(protocol)) &&
		      p.outcome.code == 0,
	      "%s: outcome %s \"%s\"", protocol, bs_err_name(p.outcome.code), p.outcome.text);
}

/* A field of +-200 Hz and two coils, for 32 x 32 voxels, beside the site file. */
static bool write_inputs(void)
{
	static float field[32 * 32 * 2];
	static float maps[2 * 32 * 32 * 2];
	uint64_t dims[BS_CFL_DIMS];
	char name[128];
	bool good;

	for (int i = 0; i < 32 * 32; i++) {
		field[2 * i] = (float)(12.5 * (i % 32 - 16));
		maps[2 * i] = 1.0f + 0.01f * (float)(i % 32);
		maps[2 * (32 * 32 + i) + 1] = 1.0f + 0.01f * (float)(i / 32);
	}
	bs_cfl_sizes(dims, 32, 32, 1, 1);
	(void)snprintf(service.dir, sizeof(service.dir), "/tmp/boreside-test-XXXXXX");
	if (mkdtemp(service.dir) == NULL)
		return false;
	(void)snprintf(name, sizeof(name), "%s/field", service.dir);
	good = bs_cfl_write(name, dims, field, NULL) == 0;
	bs_cfl_sizes(dims, 32, 32, 1, 2);
	(void)snprintf(name, sizeof(name), "%s/maps", service.dir);
	return good && bs_cfl_write(name, dims, maps, NULL) == 0;
}

int main(void)
{
	static const char *const names[] = { "cart",         "noop",       "gridding",
					     "ls_exact",     "ls_nufft",   "slide",
					     "slide_stream", "previews",   "previews_ls",
					     "sheds",        "compressed", "cart_grappa",
					     "cart_sense",   "cart_walsh", "cart_epi",
					     "field_sense" };
	char counts[] = "/tmp/boreside-alloc-XXXXXX";
	char hook[512];
	int fd = mkstemp(counts);
	bool up;

	(void)snprintf(hook, sizeof(hook), "%s/test/support/alloc_hook.so",
		       getenv("BUILD") ? getenv("BUILD") : "");
#if CHECK_SANITIZED
	SKIP("allocations cannot be counted under a sanitizer, which replaces malloc itself");
	(void)unlink(counts);
	return 0;
#endif
	if (fd < 0 || ftruncate(fd, sizeof(*now)) != 0 || access(hook, R_OK) != 0) {
		SKIP("no %s (make tests builds it)", hook);
		return 0;
	}
	now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)setenv("ALLOC_HOOK", counts, 1);
	up = write_inputs() &&
	     service_write_site(&service, SERVICE_PATIENT " image_slots = " TEXT(SLOTS) ";",
				protocols) &&
	     service_spawn(&service, hook) && service_until(&service, "\"state\":\"idle\"");
	CHECK(up, "the service starts");
	CHECK(peer_open(&p, &service), "a sender connects");
	CHECK(bs_endpoint_connect(&archive, BS_ENDPOINT_ARCHIVE_IN, service.archive, 65536, NULL) ==
			      0 &&
		      (!up || service_meets(&service, &archive)),
	      "an archive connects");
	for (size_t i = 0; up && i < sizeof(names) / sizeof(names[0]); i++)
		test_protocol(names[i]);
	bs_endpoint_close(&archive);
	peer_close(&p);
	(void)service_end(&service);
	(void)unlink(counts);
	return check_done();
}
