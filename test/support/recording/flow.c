/*
 * test/support/recording/flow.c - flow OUT.h5 TRUTH.cfl turn|after|before [VENC|-] [LEFT OUT]: two
 * sets of a disk in which something flows, set 1 the other way in its lower half, and what is right
 *
 * turn: set innermost, line by line; after: set 1 behind set 0; before: in front of it. VENC: the
 * header's VENC_0 in cm/s (150), "-": it has none. LEFT OUT: this line of set 0 does not come.
 * truth: TRUTH.cfl, velocities in cm/s by double-precision sums over coils, and TRUTH_0.cfl, the
 * magnitude of set 0 (root of the sum of squares). Lines are sums in double precision.
 * flow argument COMPLEX.cfl PHASE.cfl: succeeds if the one is the argument of the other, to 1e-5.
 */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/tool/load/cfl.h"
#include "drivers/tool/load/recording.h"

#define NX    24
#define NY    20
#define COILS 4
#define PI    3.14159265358979323846

static double complex object[2][COILS][NY][NX];
static double venc_said = 150.0; /* cm/s */

/* Flow to 1.3 times VENC's half, and nothing outside of the disk but a weak, even ground. */
static double velocity_at(double x, double y)
{
	const double r2 = x * x + y * y;

	if (r2 > 0.16)
		return 0.0;
	return (y > 0.0 ? 0.65 : -0.65) * 150.0 * (1.0 - r2 / 0.16);
}

static void make_object(void)
{
	for (int c = 0; c < COILS; c++)
		for (int iy = 0; iy < NY; iy++)
			for (int ix = 0; ix < NX; ix++) {
				const double x = (ix - NX / 2) / (double)NX;
				const double y = (iy - NY / 2) / (double)NY;
				const double body = x * x + y * y < 0.2 ? 1.0 : 0.05;
				const double phase = 2.0 * x + 1.5 * y * y + c * 1.1;
				const double coil = exp(-2.0 * (pow(x - 0.4 * cos(c * PI / 2), 2) +
								pow(y - 0.4 * sin(c * PI / 2), 2)));
				const double turn = PI * velocity_at(x, y) / 150.0;

				object[0][c][iy][ix] = body * coil * cexp(I * phase);
				object[1][c][iy][ix] = object[0][c][iy][ix] * cexp(I * turn);
			}
}

/* Line ky of a set, as MRD has it: sum over the image of exp(-i 2 pi k.n), halves truncated. */
static void make_line(float *to, int set, int ky)
{
	for (int c = 0; c < COILS; c++)
		for (int kx = 0; kx < NX; kx++) {
			double complex sum = 0.0;

			for (int iy = 0; iy < NY; iy++)
				for (int ix = 0; ix < NX; ix++)
					sum += object[set][c][iy][ix] *
					       cexp(-2.0 * PI * I *
						    ((kx - NX / 2) * (ix - NX / 2) / (double)NX +
						     (ky - NY / 2) * (iy - NY / 2) / (double)NY));
			sum /= sqrt((double)NX * NY);
			to[2 * (c * NX + kx)] = (float)creal(sum);
			to[2 * (c * NX + kx) + 1] = (float)cimag(sum);
		}
}

static int put_xml(struct bs_recording *r, struct bs_fail *why)
{
	static const char *const space =
		"<matrixSize><x>24</x><y>20</y><z>1</z></matrixSize>"
		"<fieldOfView_mm><x>240</x><y>200</y><z>5</z></fieldOfView_mm>";
	char venc[160] = "";
	char xml[2000];

	if (venc_said > 0.0)
		(void)snprintf(venc, sizeof(venc),
			       "<userParameters><userParameterDouble><name>VENC_0</name><value>%g"
			       "</value></userParameterDouble></userParameters>",
			       venc_said);
	(void)snprintf(xml, sizeof(xml),
		       "<?xml version=\"1.0\"?>\n<ismrmrdHeader "
		       "xmlns=\"http://www.ismrm.org/ISMRMRD\"><acquisitionSystemInformation>"
		       "<receiverChannels>%d</receiverChannels></acquisitionSystemInformation>"
		       "<experimentalConditions><H1resonanceFrequency_Hz>123000000"
		       "</H1resonanceFrequency_Hz></experimentalConditions><encoding><encodedSpace>"
		       "%s</encodedSpace><reconSpace>%s</reconSpace><encodingLimits>"
		       "<kspace_encoding_step_1><minimum>0</minimum><maximum>%d</maximum>"
		       "<center>%d</center></kspace_encoding_step_1><set><minimum>0</minimum>"
		       "<maximum>1</maximum><center>0</center></set></encodingLimits>"
		       "<trajectory>cartesian</trajectory></encoding>%s</ismrmrdHeader>\n",
		       COILS, space, space, NY - 1, NY / 2, venc);
	return bs_recording_put_xml(r, xml, why);
}

static int put_line(struct bs_recording *r, int set, int ky, bool last, uint32_t number,
		    struct bs_fail *why)
{
	static float data[2 * COILS * NX];
	struct bs_mrd_acq h = { .version = 1,
				.measurement_uid = 77,
				.scan_counter = number,
				.number_of_samples = NX,
				.available_channels = COILS,
				.active_channels = COILS,
				.center_sample = NX / 2,
				.sample_time_us = 5.0f,
				.read_dir = { 1.0f, 0.0f, 0.0f },
				.phase_dir = { 0.0f, 1.0f, 0.0f },
				.slice_dir = { 0.0f, 0.0f, 1.0f } };

	h.idx.set = (uint16_t)set;
	h.idx.kspace_encode_step_1 = (uint16_t)ky;
	if (ky == NY - 1)
		h.flags = BS_MRD_LAST_IN_SLICE;
	if (last)
		h.flags |= BS_MRD_LAST_IN_MEASUREMENT;
	make_line(data, set, ky);
	return bs_recording_append(r, &h, NULL, data, why);
}

/* order: turn, after, before. */
static int put_lines(struct bs_recording *r, const char *order, int left_out, struct bs_fail *why)
{
	uint32_t number = 0;
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2 * NY; i++) {
		const bool turn = strcmp(order, "turn") == 0;
		const int part = turn ? i % 2 : i / NY;
		const int set = strcmp(order, "before") == 0 ? 1 - part : part;
		const int ky = turn ? i / 2 : i % NY;

		if (set == 0 && ky == left_out)
			continue;
		rc = put_line(r, set, ky, i == 2 * NY - 1, number++, why);
	}
	return rc;
}

static int put_truth(const char *path, bool velocity, struct bs_fail *why)
{
	uint64_t dims[BS_CFL_DIMS];
	static float values[2 * NX * NY];

	bs_cfl_sizes(dims, NX, NY, 1, 1);
	for (int v = 0; v < NX * NY; v++) {
		double complex sum = 0.0;

		for (int c = 0; c < COILS; c++)
			sum += object[velocity][c][v / NX][v % NX] *
			       conj(object[0][c][v / NX][v % NX]);
		values[2 * v] = (float)(velocity ? venc_said / PI * carg(sum) : sqrt(creal(sum)));
	}
	return bs_cfl_write(path, dims, values, why);
}

static int is_argument(const char *of, const char *phase)
{
	struct bs_cfl a = { 0 };
	struct bs_cfl b = { 0 };
	double worst = 0.0;
	bool good = bs_cfl_read(&a, of, NULL) == 0 && bs_cfl_read(&b, phase, NULL) == 0 &&
		    a.size == b.size && a.size > 0;

	for (uint64_t i = 0; good && i < a.size; i++) {
		const double off = fabs(carg(a.data[2 * i] + I * (double)a.data[2 * i + 1]) -
					(double)b.data[2 * i]);

		worst = fmax(worst, fmin(off, fabs(2.0 * PI - off)));
	}
	bs_cfl_free(&a);
	bs_cfl_free(&b);
	printf("off by %.1e\n", worst);
	return good && worst <= 1e-5 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct bs_recording *r = NULL;
	struct bs_fail why = { 0 };
	char magnitude[512];
	int rc = argc >= 4 ? 0 : bs_fail(&why, BS_ERR_USAGE, "OUT TRUTH turn|after|before [VENC]");

	if (argc == 4 && strcmp(argv[1], "argument") == 0)
		return is_argument(argv[2], argv[3]);
	if (argc > 4)
		venc_said = strcmp(argv[4], "-") == 0 ? 0.0 : strtod(argv[4], NULL);
	make_object();
	if (rc == 0)
		rc = bs_recording_create(&r, argv[1], &why);
	if (rc == 0)
		rc = put_xml(r, &why);
	if (rc == 0)
		rc = put_lines(r, argv[3], argc > 5 ? (int)strtol(argv[5], NULL, 10) : -1, &why);
	if (r != NULL && rc == 0)
		rc = bs_recording_close(r, &why);
	if (rc == 0 && venc_said == 0.0)
		venc_said = 150.0; /* the key's, in the test */
	if (rc == 0)
		rc = put_truth(argv[2], true, &why);
	if (rc == 0) {
		(void)snprintf(magnitude, sizeof(magnitude), "%.*s_0.cfl",
			       (int)(strlen(argv[2]) - 4), argv[2]);
		rc = put_truth(magnitude, false, &why);
	}
	if (rc != 0)
		(void)fprintf(stderr, "flow: %s\n", why.text);
	return rc == 0 ? 0 : 1;
}
