/*
 * config/keys_solve.h - rows of the table in keys.c: the prior, the solvers, and the constraint W
 *
 * A part of an initializer, which keys.c includes once.
 */
/* clang-format off */
P("solve.prior", BS_KEY_WORD, "", "\"none\"", 0, 0, bs_prior_names, prior.kind,
  "what images are expected to be; ls, sense: sparse in wavelets, of small total variation, or "
  "small by the W of ls.w_file (the sum of |W rho|), beside ls.lambda's quadratic term. tv_frames, "
  "tv_cycle (the last frame beside the first) and low_rank: a sliding window's groups are frames, "
  "solved for together, and the newest leaves. At the rims wavelets and tv go on at the far rim"),
P("solve.lambda", BS_KEY_NUMBER, "", "0.0", 0, 1e12, NULL, prior.lambda,
  "weight of the prior, in the image's unit: lambda times it is added to half the squared error "
  "over the number of voxels (BART's pics -R with -w 1, and k-space over the root of that number)"),
P("solve.lambda_noise", BS_KEY_NUMBER, "", "0.0", 0, 1e3, NULL, prior.noise,
  "weight of the prior from the noise: so many standard deviations of the noise that one voxel of "
  "F^H d has. Needs noise.whiten require; 0.8 suits wavelets"),
P("solve.block", BS_KEY_INT, "voxels", "8", 1, 32, NULL, prior.block,
  "low_rank: size of a block on each axis; a block at the far rim is smaller"),
P("solve.start", BS_KEY_WORD, "", "\"zero\"", 0, 0, starts, prior.start,
  "ls, sense: where a solve starts; last: from the last image of its slice and contrast in the "
  "scan, for frames that follow each other; fewer iterations then do"),
P("solve.damp", BS_KEY_NUMBER, "", "0.0", 0, 1e12, NULL, prior.damp,
  "weight of the squared difference from 0.9 times the last image of its slice and contrast, on "
  "the scale of ls.lambda; the first of a scan has 0 there; 0: none"),
P("solve.shifts", BS_KEY_BOOL, "", "true", 0, 0, NULL, prior.shifts,
  "wavelet on the grid's lines: each iteration has two other grids, of a fixed sequence: "
  "fewer errors, no seams; false, and along trajectories: one, and an objective that never rises"),

P("ls.lambda", BS_KEY_NUMBER, "", "0.0", 0, 1e12, NULL, lambda,
  "weight of the constraint: lambda times the number of voxels times the squared norm of W rho is "
  "added to the squared error of the samples (the scale of BART's pics -r)"),
P("ls.iterations", BS_KEY_INT, "", "20", 1, 10000, NULL, iterations,
  "iterations of the solver, at most"),
P("ls.tolerance", BS_KEY_NUMBER, "", "0.0", 0, 1, NULL, tolerance,
  "relative residual at which the solver stops; with solve.prior the relative gain of two "
  "iterations; 0: by iterations alone"),
P("ls.fhd", BS_KEY_WORD, "", "\"nufft\"", 0, 0, sums, fhd,
  "how F^H d is computed: the exact sum, or the NUFFT at gridding.accuracy"),
P("ls.q", BS_KEY_WORD, "", "\"nufft\"", 0, 0, sums, q,
  "how Q is computed when armed"),
P("ls.basis", BS_KEY_WORD, "", "\"delta\"", 0, 0, bases, basis,
  "shape of a voxel"),
P("ls.preconditioner", BS_KEY_WORD, "", "\"none\"", 0, 0, preconds, precond,
  "preconditioner of the conjugate gradients"),
P("ls.w_file", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, w_file,
  "the constraint W as a Matrix Market file, made by boreside prior of reference images or by "
  "boreside recon --rounds of an earlier scan's contrasts; \"\": identity"),
