/*
 * test/fault/fault_alloc.c - once armed, ingest and recon allocate nothing of their own: counted
 * over 1,000 frames by a preloaded malloc. nanomsg allocates for each message; that is counted,
 * shown and excluded by the address it is called from.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "test/support/alloc_hook.h"
#include "test/support/service.h"

#define FRAMES 1000u
#define WARM   20u
/* Recon leaves previews out when fewer than two image slots are free (board/recon/recon.c). Emit
 * gives a slot back after the archive has its image, in its own time: so many frames of two images
 * go by before that is waited for. */
#define SLOTS    64
#define UNSEEN   ((SLOTS - 2) / 2)
#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

/* Every host method; ls by both sums and both preconditioners, and down the ladder to its end. */
/* clang-format off */
#define PROTOCOL(name, method, more) \
	"{ name = \"" name "\"; method = \"" method "\"; " SERVICE_SPOKES more " },\n"
#define LS "ls: { lambda = 0.01; iterations = 3; "
static const char protocols[] = "protocols = (\n" SERVICE_CART
	PROTOCOL("gridding", "gridding", "image: { matrix = [48, 40]; };")
	PROTOCOL("ls_exact", "ls",
		 LS "fhd = \"exact\"; q = \"exact\"; preconditioner = \"circulant\"; };")
	PROTOCOL("ls_nufft", "ls", LS "preconditioner = \"jacobi\"; };")
	PROTOCOL("compressed", "gridding", "virtual_coils = 1; noise: { whiten = \"auto\"; };")
	PROTOCOL("slide", "gridding", "frame: { step = 16; };")
	PROTOCOL("slide_ls", "ls", LS "fhd = \"exact\"; }; frame: { step = 16; };")
	PROTOCOL("previews", "gridding", "frame: { preview_every = 31; };")
	PROTOCOL("previews_ls", "ls",
		 LS "}; frame: { preview_every = 31; }; image: { matrix = [21, 64]; };")
	PROTOCOL("sheds", "ls", "ls: { lambda = 0.01; iterations = 4; };\n"
		 "budget: { image_ms = 1e-6; on_miss = \"shed\"; admission = \"trust\"; };")
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

static bool slots_free(void)
{
	AWAIT(service_number(&service, "\"images\",\"slots\"", "in_use") == 0);
	return service_number(&service, "\"images\",\"slots\"", "in_use") == 0;
}

static bool send_frame(const char *protocol, unsigned frame)
{
	static unsigned char image[65536];
	size_t len;

	if (frame % UNSEEN == 0 && !slots_free())
		return false;

	for (unsigned i = 0; i < 32; i++)
		if (!peer_acq(&p, protocol, i, frame))
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
	CHECK(taken[ALLOC_OTHER] == 0 && freed[ALLOC_OTHER] == 0,
	      "%s, %s: libraries took %llu and freed %llu (last at %llx)", name, protocol,
	      (unsigned long long)taken[ALLOC_OTHER], (unsigned long long)freed[ALLOC_OTHER],
	      (unsigned long long)now->row[row].other_at);
	printf("# %s, %s: nanomsg took %llu, freed %llu\n", name, protocol,
	       (unsigned long long)taken[ALLOC_NANOMSG], (unsigned long long)freed[ALLOC_NANOMSG]);
	if (row == ALLOC_INGEST)
		CHECK(taken[ALLOC_NANOMSG] >= FRAMES * 32u,
		      "the hook sees nanomsg's allocations: one a message at least");
}

static void test_protocol(const char *protocol)
{
	unsigned frame = 0;
	bool good = peer_begin(&p, protocol);

	for (; good && frame < WARM; frame++)
		good = send_frame(protocol, frame);
	while (good && p.acked < WARM * 32)
		good = peer_await(&p, BS_WIRE_ACK);
	memcpy(&before, now, sizeof(before));
	for (; good && frame < WARM + FRAMES; frame++)
		good = send_frame(protocol, frame);
	CHECK(good, "%s: %u frames went through", protocol, FRAMES);
	check_row(ALLOC_INGEST, "ingest", protocol);
	check_row(ALLOC_RECON, "recon", protocol);
	CHECK(peer_end(&p, (WARM + FRAMES) * 32) && p.outcome.code == 0, "%s: outcome %s \"%s\"",
	      protocol, bs_err_name(p.outcome.code), p.outcome.text);
}

int main(void)
{
	static const char *const names[] = { "cart",        "noop",  "gridding",  "ls_exact",
					     "ls_nufft",    "slide", "slide_ls",  "previews",
					     "previews_ls", "sheds", "compressed" };
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
	up = service_start_with(&service, SERVICE_PATIENT " image_slots = " TEXT(SLOTS) ";",
				protocols, hook);
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
	CHECK(service_stop(&service) == 0, "the service ends with 0");
	service_remove(&service);
	(void)unlink(counts);
	return check_done();
}
