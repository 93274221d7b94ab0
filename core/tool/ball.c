/* core/tool/ball.c - see ball.h */
#include "core/tool/ball.h"

#include <math.h>

double bs_ball_share(const struct bs_ball *b, uint32_t x, uint32_t y, uint32_t z)
{
	const double from[] = { x - b->at[0], y - b->at[1], z - b->at[2] };
	int points[3];
	int in = 0;

	for (int a = 0; a < 3; a++) {
		if (fabs(from[a]) > b->radius + 0.5)
			return 0.0;
		points[a] = b->matrix[a] > 1 ? BS_BALL_POINTS : 1;
	}
	for (int i = 0; i < points[0] * points[1] * points[2]; i++) {
		const int at[] = { i % points[0], i / points[0] % points[1],
				   i / points[0] / points[1] };
		double square = 0.0;

		for (int a = 0; a < 3; a++) {
			const double d = from[a] + (at[a] + 0.5) / points[a] - 0.5;

			square += d * d;
		}
		in += square <= b->radius * b->radius;
	}
	return (double)in / (points[0] * points[1] * points[2]);
}

void bs_ball_put(const struct bs_ball *b, float *image)
{
	const uint32_t *n = b->matrix;

	for (uint32_t z = 0; z < n[2]; z++)
		for (uint32_t y = 0; y < n[1]; y++)
			for (uint32_t x = 0; x < n[0]; x++, image += 2) {
				image[0] = (float)bs_ball_share(b, x, y, z);
				image[1] = 0.0f;
			}
}

double bs_ball_kept(const struct bs_ball *b, const float *image)
{
	const uint32_t *n = b->matrix;
	double product = 0.0;
	double square = 0.0;

	for (uint32_t z = 0; z < n[2]; z++)
		for (uint32_t y = 0; y < n[1]; y++)
			for (uint32_t x = 0; x < n[0]; x++, image += 2) {
				const double share = bs_ball_share(b, x, y, z);

				product += share * (double)image[0];
				square += share * share;
			}
	return square > 0.0 ? product / square : 0.0;
}
