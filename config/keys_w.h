/*
 * config/keys_w.h - rows of the table in keys.c: the constraint W
 *
 * A part of an initializer, which keys.c includes once.
 */
/* clang-format off */
P("ls.w_file", BS_KEY_PATH, "", "\"\"", 0, 0, NULL, w_file,
  "the constraint W as a Matrix Market file, made by boreside prior of reference images or by "
  "boreside recon --rounds of an earlier scan's contrasts; \"\": identity"),
P("ls.l2", BS_KEY_NUMBER, "", "0.0", 0, 1e12, NULL, w.l2,
  "weight of the identity beside W, on the scale of ls.lambda: it holds what neither data nor W "
  "hold. With ls.w study 0.1 where it is not given, and ls.lambda 0.03. On the host"),
P("ls.w", BS_KEY_WORD, "", "\"file\"", 0, 0, ws_from, w.from,
  "where W comes from; file: w_file; study: made of the newest whole image (first contrast, phase "
  "and set) that protocol w_protocol has left of the same study, put on the scan's grid by "
  "position and directions. On the host; in 3D, or of one slice"),
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
