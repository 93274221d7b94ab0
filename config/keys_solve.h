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
P("ls.l2", BS_KEY_NUMBER, "", "0.0", 0, 1e12, NULL, w.l2,
  "weight of the identity beside W, on the scale of ls.lambda: it holds what neither data nor W "
  "hold. With ls.w study 0.1 where it is not given, and ls.lambda 0.03. On the host"),
P("ls.w", BS_KEY_WORD, "", "\"file\"", 0, 0, ws_from, w.from,
  "where W comes from; file: w_file; study: made of the newest whole image (first contrast, phase "
  "and set) that protocol w_protocol has left of the same study, put on the scan's grid by "
  "position and directions. On the host; in 3D, or of one slice; not with solve.prior, start or "
  "damp"),
P("ls.w_protocol", BS_KEY_TEXT, "", "\"\"", 0, 0, NULL, w.protocol,
  "ls.w study: the protocol whose images make W"),
P("ls.w_lacking", BS_KEY_WORD, "", "\"refuse\"", 0, 0, w_lackings, w.lacking,
  "ls.w study: a scan for which there is no such image, or whose image does not fit (another "
  "patient, moved table, no overlap); refuse: it is refused, or ended; without: it is solved with "
  "ls.l2 alone (ls.lambda where that is 0), and its images say so"),
P("ls.w_edge", BS_KEY_NUMBER, "", "0.1", 1e-6, 1e6, NULL, w.edge,
  "ls.w study: a difference of this share of the image's largest value is an edge"),
P("ls.w_outside", BS_KEY_NUMBER, "", "1.0", 1e-6, 1e6, NULL, w.outside,
  "ls.w study: weight of voxels outside the object's mask"),
P("ls.w_neighbors", BS_KEY_INT, "", "0", 0, 26, NULL, w.neighbors,
  "ls.w study: neighbors of a voxel: 4 or 8 in 2D, 6 or 26 in 3D; 0: 4, 6"),
P("ls.w_mask", BS_KEY_NUMBER, "", "0.1", 1e-6, 1, NULL, w.mask,
  "ls.w study: the object is where the image has this share of its largest value, and what that "
  "encloses"),
P("ls.w_margin", BS_KEY_NUMBER, "voxels", "1.5", 0, 8, NULL, w.margin,
  "ls.w study: the mask is wider than the object by this"),
P("ls.w_off", BS_KEY_NUMBER, "voxels", "0.75", 0, 4, NULL, w.off,
  "ls.w study: a scan's first image is solved without W, too, to find how far it lies from W's "
  "image; with a longer offset, or where it cannot be found, W is not used, and images say so. 0: "
  "W is used as it is"),
