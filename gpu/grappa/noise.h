/*
 * gpu/grappa/noise.h - what the noise of a coil's samples adds to the diagonal of G (gram.h)
 *
 * Its variance times the places, estimated from the calibration lines that G was made of last. It
 * is what the neighboring samples of all coils, on the sample's own line and the two beside it, do
 * not explain of a sample by least squares; these have noise themselves. For lines without noise it
 * is what their smoothness leaves. Test: test/unit/gpu/calibrate/test_grappa.c
 */
#ifndef BS_GPU_GRAPPA_NOISE_H
#define BS_GPU_GRAPPA_NOISE_H

#include "gpu/grappa/gram.h"

#define BS_GRAM_AROUND 8u /* samples around a sample, on three lines */

double bs_gram_noise(struct bs_gram *m);

#endif
