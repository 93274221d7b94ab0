/*
 * test/unit/drivers/test_dicomtable.c - drivers/sink/DICOM.md says what is written and proposed:
 * its table and its presentation contexts are made here, of files that DCMTK reads and of an
 * association that its storescp was asked for
 *
 * usage: test_dicomtable [--print]   both, as the page has them
 * Each kind of image is written with all that a header may say and with nothing of it: its column
 * has DICOM's own word for that (PS3.2). An element comes from a word of the header if
 * it changes when that word alone is left out.
 */
#define _GNU_SOURCE
#include "test/unit/drivers/dicom.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define ELEMENTS 200u
#define PAGE     "drivers/sink/DICOM.md"

static const char *const all[] = {
	"boreside_protocol=brain",
	"boreside_engine=gridding/host",
	"boreside_quality=partial",
	"boreside_lacks=1 of 64 readouts did not come",
	"boreside_lambda=0.25",
	"boreside_iterations=10",
	"boreside_residual=1e-3",
	"boreside_budget=missed",
	"boreside_latency_us=812.5",
	"boreside_readouts=63",
	"boreside_missing=1",
	"boreside_slice_thickness=4",
	"mrd_patientName=Muster^Anna",
	"mrd_patientID=4711",
	"mrd_patientBirthdate=1980-02-29",
	"mrd_patientGender=F",
	"mrd_patientHeight_m=1.7",
	"mrd_patientWeight_kg=61",
	"mrd_studyDate=2026-11-30",
	"mrd_studyTime=10:15:00",
	"mrd_studyID=s7",
	"mrd_accessionNumber=a9",
	"mrd_referringPhysicianName=Muster^Otto",
	"mrd_studyDescription=a study",
	"mrd_studyInstanceUID=1.2.840.1.7",
	"mrd_bodyPartExamined=HEAD",
	"mrd_measurementID=a_30",
	"mrd_seriesDate=2026-11-30",
	"mrd_seriesTime=10:16:00",
	"mrd_patientPosition=FFS",
	"mrd_initialSeriesNumber=5",
	"mrd_protocolName=t1",
	"mrd_sequenceName=fl2d",
	"mrd_seriesDescription=a series",
	"mrd_seriesInstanceUIDRoot=1.2.840.1.8",
	"mrd_frameOfReferenceUID=1.2.840.1.9",
	"mrd_systemVendor=Acme",
	"mrd_systemModel=One",
	"mrd_systemFieldStrength_T=2.9",
	"mrd_institutionName=a clinic",
	"mrd_stationName=mr1",
	"mrd_deviceSerialNumber=42",
	"mrd_H1resonanceFrequency_Hz=123200000",
	"mrd_TR=8.5",
	"mrd_TE=4.9|7.4",
	"mrd_TI=900",
	"mrd_flipAngle_deg=12",
};
#define WORDS (sizeof(all) / sizeof(all[0]))

struct element {
	char place[64]; /* the tags of the sequences that it lies in, then its own */
	uint32_t depth; /* so many sequences */
	char vr[3];
	char keyword[64];
	char value[512];
};

struct dump {
	struct element at[ELEMENTS];
	uint32_t n;
};

enum { SLICE, PHASE, VOLUME, KINDS };
static struct dump whole[KINDS], bare[KINDS];
static char from[ELEMENTS][400]; /* of the union's elements */
static struct element of_all[ELEMENTS];
static uint32_t elements;

/* An element of a dump; NULL: it is not there. */
static const struct element *find(const struct dump *d, const struct element *e)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (strcmp(d->at[i].place, e->place) == 0)
			return &d->at[i];
	return NULL;
}

/* Takes a line of dcmdump; an element that comes again, in another item, is passed over. */
static void take_line(struct dump *d, const char *line)
{
	static char in[4][16]; /* the sequences around this line, and its own tag */
	struct element e = { 0 };
	const size_t depth = strspn(line, " ");
	const char *end = strrchr(line, '#');
	unsigned group;
	unsigned number;

	e.depth = (uint32_t)depth / 4; /* an item stands between a sequence and its elements */
	if (sscanf(line + depth, "(%x,%x) %2s", &group, &number, e.vr) != 3 || end == NULL ||
	    group == 0xfffe || group == 2 || e.depth > 3)
		return;
	(void)snprintf(in[e.depth], sizeof(in[0]), "%04x,%04x", group & 0xffff, number & 0xffff);
	for (uint32_t i = 0; i <= e.depth; i++)
		(void)snprintf(e.place + strlen(e.place), 16, "%s%s", i > 0 ? ">" : "", in[i]);
	(void)snprintf(e.keyword, sizeof(e.keyword), "%s", strrchr(end, ' ') + 1);
	(void)snprintf(e.value, sizeof(e.value), "%.*s", (int)(end - line), line);
	if (find(d, &e) == NULL && d->n < ELEMENTS)
		d->at[d->n++] = e;
}

static void write_image(struct dump *d, int kind, const char *const said[], size_t n)
{
	static char said_by[1 << 16];
	static char attributes[4096];
	struct bs_mrd_image h = head(kind == VOLUME ? NZ : 1);
	struct bs_fail why = { 0 };

	h.image_type = kind == PHASE ? BS_MRD_PHASE : BS_MRD_MAGNITUDE;
	make_words(attributes, said, n);
	d->n = 0;
	(void)unlink(in_dir("x.dcm"));
	if (put("x.dcm", &h, attributes, &why) != 0) {
		CHECK(false, "an image is written: %s", why.text);
		return;
	}
	(void)run(said_by, sizeof(said_by), "dcmdump -q +L '%s' 2>&1", in_dir("x.dcm"));
	for (char *line = strtok(said_by, "\n"); line != NULL; line = strtok(NULL, "\n"))
		take_line(d, line);
}

/* DICOM's word for when an element of these two images has a value. */
static const char *presence(const struct element *e, int kind)
{
	const struct element *full = find(&whole[kind], e);
	const struct element *none = find(&bare[kind], e);

	if (full == NULL && none == NULL)
		return "";
	if (none == NULL)
		return "ANAP";
	if (strstr(none->value, "no value") == NULL)
		return "ALWAYS";
	return full != NULL && strstr(full->value, "no value") == NULL ? "VNAP" : "EMPTY";
}

static void gather(const struct dump *d)
{
	for (uint32_t i = 0; i < d->n; i++) {
		bool known = false;

		for (uint32_t j = 0; j < elements; j++)
			known = known || strcmp(of_all[j].place, d->at[i].place) == 0;
		if (!known && elements < ELEMENTS)
			of_all[elements++] = d->at[i];
	}
}

/* Leaves each word out in turn. */
static void trace(int kind)
{
	static struct dump less;
	const char *said[WORDS];

	for (size_t w = 0; w < WORDS; w++) {
		size_t n = 0;

		for (size_t i = 0; i < WORDS; i++)
			if (i != w)
				said[n++] = all[i];
		write_image(&less, kind, said, n);
		for (uint32_t i = 0; i < elements; i++) {
			const struct element *is = find(&whole[kind], &of_all[i]);
			const struct element *then = find(&less, &of_all[i]);
			char word[64];

			if (is == NULL || (then != NULL && strcmp(is->value, then->value) == 0))
				continue;
			(void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(all[w], "="),
				       all[w]);
			if (strstr(from[i], word) == NULL)
				(void)snprintf(from[i] + strlen(from[i]),
					       sizeof(from[i]) - strlen(from[i]), "%s%s",
					       from[i][0] != '\0' ? ", " : "", word);
		}
	}
}

static int by_place(const void *a, const void *b)
{
	return strcmp(((const struct element *)a)->place, ((const struct element *)b)->place);
}

static void put_row(struct bs_text *t, uint32_t i)
{
	const struct element *e = &of_all[i];
	const char *own = strrchr(e->place, '>');

	bs_text_put(t, "| %.*s%s | %s | %s | %s | %s | %s | %s |\n", (int)e->depth, ">>>",
		    own != NULL ? own + 1 : e->place, e->vr, e->keyword, presence(e, SLICE),
		    presence(e, PHASE), presence(e, VOLUME),
		    strlen(from[i]) > 60 ? "see Identifiers" : from[i]);
}

/* ---- an association ---- */

/* storescp, once it listens, on a port that the kernel gives; its words go to the file scp. */
static pid_t start_archive(char address[64])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char port[8];
	pid_t pid;

	(void)bind(fd, (struct sockaddr *)&at, len);
	(void)getsockname(fd, (struct sockaddr *)&at, &len);
	(void)close(fd);
	(void)snprintf(port, sizeof(port), "%u", (unsigned)ntohs(at.sin_port));
	(void)snprintf(address, 64, "PACS@127.0.0.1:%s", port);
	pid = fork();
	if (pid == 0) {
		fd = open(in_dir("scp"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
		(void)dup2(fd, 1);
		(void)dup2(fd, 2);
		(void)execlp("storescp", "storescp", "-d", "-od", dir, port, (char *)NULL);
		_exit(127);
	}
	for (int connected = -1; connected != 0 && waitpid(pid, NULL, WNOHANG) == 0;) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		connected = connect(fd, (struct sockaddr *)&at, len);
		(void)close(fd);
		(void)usleep(10000);
	}
	return pid;
}

/* What is proposed to an archive that an image is sent to. */
static void put_association(struct bs_text *t, uint16_t nz)
{
	static char said[1 << 14];
	struct bs_mrd_image h = head(nz);
	struct bs_fail why = { 0 };
	char address[64];
	void *self = NULL;
	const pid_t pid = start_archive(address);

	make_words(words, all, WORDS);
	if (bs_sink_open(&bs_sink_dicom, &self, in_dir("sent.dcm"), &why) != 0 ||
	    bs_sink_dicom.send_to(self, address, &why) != 0 ||
	    bs_sink_put(&bs_sink_dicom, self, &h, words, pixels, &why) != 0)
		CHECK(false, "an image is sent: %s", why.text);
	if (self != NULL)
		(void)bs_sink_close(&bs_sink_dicom, self, NULL);
	(void)kill(pid, SIGTERM);
	(void)waitpid(pid, NULL, 0);
	(void)run(said, sizeof(said),
		  "sed -n '/BEGIN A-ASSOCIATE-RQ/,/END A-ASSOCIATE-RQ/{"
		  "s/^D: *Abstract Syntax: =/- /p; s/^D:       =/  - /p; "
		  "s/^D: Calling Application Name: */- calling title /p; "
		  "s/^D: \\(Requested .*\\)/- \\1/p; }' '%s' | "
		  "sed -n '/BORESIDE/,$p'", /* behind the connection that found it listening */
		  in_dir("scp"));
	bs_text_put(t, "\n%s", said);
}

int main(int argc, char **argv)
{
	static char table[1 << 16];
	static char proposed[1 << 12];
	static char page[1 << 18];
	struct bs_text t = { table, sizeof(table), 0, false };
	struct bs_text p = { proposed, sizeof(proposed), 0, false };
	FILE *f;

	(void)setenv("SOURCE_DATE_EPOCH", "0", 1); /* the time of writing is none of the words' */
	if (!dicom_open() || !there("storescp")) {
		SKIP("DICOM's table: dcmtk is not here");
		return 0;
	}
	for (int k = 0; k < KINDS; k++) {
		write_image(&whole[k], k, all, WORDS);
		write_image(&bare[k], k, all, 0);
		gather(&whole[k]);
		gather(&bare[k]);
	}
	qsort(of_all, elements, sizeof(of_all[0]), by_place);
	trace(SLICE);
	trace(VOLUME);
	bs_text_put(&t, "| tag | VR | element | slice | phase | volume | from |\n");
	bs_text_put(&t, "|---|---|---|---|---|---|---|\n");
	for (uint32_t i = 0; i < elements; i++)
		put_row(&t, i);
	put_association(&p, 1);
	put_association(&p, NZ);
	if (argc > 1 && strcmp(argv[1], "--print") == 0) {
		printf("%s\n%s", table, proposed);
		return 0;
	}
	f = fopen(PAGE, "r");
	page[f != NULL ? fread(page, 1, sizeof(page) - 1, f) : 0] = '\0';
	if (f != NULL)
		(void)fclose(f);
	CHECK(elements > 80, "elements: %u", elements);
	CHECK(strstr(page, table) != NULL, "%s has what is written (test_dicomtable --print)",
	      PAGE);
	CHECK(strstr(page, proposed) != NULL, "and what is proposed");
	return check_done();
}
