/*
 * config/rules.h - what must hold between keys, and the defaults that depend on other keys
 *
 * A rule is skipped when a key that it reads is itself faulty. derive fills in these defaults,
 * before the rules run.
 * One thread; looks at the file system (stat) and nothing else.
 */
#ifndef BS_CONFIG_RULES_H
#define BS_CONFIG_RULES_H

#include "config/value.h"

#define BS_FRAME_SAMPLES_MAX (UINT64_C(1) << 28) /* most samples of a frame: samples x readouts */
#define BS_IPC_PATH_MAX      107u /* bytes of a socket's path: sun_path of unix(7), less its NUL */

void bs_rules_derive(const struct bs_scope *s, struct bs_protocol *p);
void bs_rules_protocol(const struct bs_scope *s, const struct bs_protocol *p);
/* Rules of a protocol about paths that come with the stream, for which there is no table. */
void bs_rules_stream(const struct bs_scope *s, const struct bs_protocol *p);
/* Rules of a protocol about a field map's source, and about a scan that measures one. */
void bs_rules_field(const struct bs_scope *s, const struct bs_protocol *p);
/* Rules of a protocol about the prior of a solver. */
void bs_rules_prior(const struct bs_scope *s, const struct bs_protocol *p);
/* Rules of a protocol about slices that are excited at once. */
void bs_rules_multiband(const struct bs_scope *s, const struct bs_protocol *p);
/* derive_w: the part of derive about W. rules_w: rules of a protocol about W and l2. */
void bs_rules_derive_w(const struct bs_scope *s, struct bs_protocol *p);
void bs_rules_w(const struct bs_scope *s, const struct bs_protocol *p);
/* Rule of the site: the protocol that p takes images of is there, and leaves such images. */
void bs_rules_w_source(const struct bs_scope *s, const struct bs_site *site,
		       const struct bs_protocol *p);
/* Rules of a protocol about image.output and image.volume. */
void bs_rules_output(const struct bs_scope *s, const struct bs_protocol *p);
/* Rules of the site. sinks, protocols: the scopes of the site's lists. */
void bs_rules_site(const struct bs_scope *s, const struct bs_site *site,
		   const struct bs_scope *sinks, const struct bs_scope *protocols);
/* share_steps: what the site's steps say of a protocol. steps: rules of the list of steps. */
void bs_rules_share_steps(const struct bs_site *site, struct bs_protocol *p);
void bs_rules_steps(const struct bs_site *site, const struct bs_scope *steps,
		    const struct bs_scope *protocols);
/* The same of answers. */
void bs_rules_share_answers(const struct bs_site *site, struct bs_protocol *p);
void bs_rules_answers(const struct bs_site *site, const struct bs_scope *answers,
		      const struct bs_scope *protocols);
/* Rules of bridges. configs: the scopes of the list bridges.mrd.configs. */
void bs_rules_bridges(const struct bs_scope *s, const struct bs_site *site,
		      const struct bs_scope *configs);
/* Rules of the keys in group keys. peers: the scopes of the list keys.peers. */
void bs_rules_keys(const struct bs_scope *s, const struct bs_site *site,
		   const struct bs_scope *peers);

#endif
