/* board/command/key.c - boreside key: keys for sealed endpoints, and what commands seal with */
#include <stdio.h>
#include <string.h>

#include "board/command/command.h"
#include "ipc/seal/keys.h"
#include "ipc/seal/sign.h"

struct request {
	const char *verb, *file;
};

static const struct bs_option options[] = {
	{ BS_OPERAND, 0, NULL, "new|show|signer", offsetof(struct request, verb),
	  .help = "new: makes a secret key; show: of one that is there. Both print its public key. "
		  "signer: prints the public key of what it signs",
	  .required = true },
	{ BS_OPERAND, 0, NULL, "FILE", offsetof(struct request, file),
	  .help = "of the secret key, of mode 600; new never overwrites", .required = true },
	{ 0 },
};

static int run_key(void *request)
{
	struct request *q = request;
	struct bs_ik_pair pair = { 0 };
	struct bs_signer signer = { 0 };
	struct bs_fail why = { 0 };
	char text[BS_KEY_TEXT_MAX];
	int rc;

	if (strcmp(q->verb, "signer") == 0)
		rc = bs_signer_read(&signer, q->file, &why);
	else if (strcmp(q->verb, "new") == 0)
		rc = bs_seal_key_make(&pair, q->file, &why);
	else if (strcmp(q->verb, "show") == 0)
		rc = bs_seal_key_read(&pair, q->file, &why);
	else
		return bs_options_wrong("'%s': new, show or signer", q->verb);
	bs_seal_wipe_bytes(pair.secret, sizeof(pair.secret));
	bs_seal_wipe_bytes(signer.secret, sizeof(signer.secret));
	if (rc != 0)
		return bs_command_fail("%s", why.text);
	bs_seal_key_text(text, q->verb[1] == 'i' ? signer.pub : pair.pub);
	(void)printf("%s\n", text);
	return 0;
}

int bs_command_seal(struct bs_seal_keys *keys, const struct bs_site *site, const char *url,
		    const char *key, const char *service)
{
	struct bs_fail why = { 0 };
	int rc = 0;

	if ((key == NULL) != (service == NULL)) {
		(void)bs_options_wrong("--key FILE and --service-key KEY belong together");
		return -1;
	}
	if (key != NULL)
		rc = bs_seal_keys_client(keys, key, service, &why);
	else if (site != NULL && bs_site_seals(site, url))
		rc = bs_seal_keys_node(keys, &site->keys, NULL, &why);
	else
		return 0;
	if (rc == 0)
		return 1;
	(void)bs_command_fail("%s", why.text);
	return -1;
}

const struct bs_command bs_command_key = {
	.name = "key",
	.summary = "make and show keys for endpoints over tcp and for signatures",
	.options = options,
	.notes = "The public key, 44 characters, goes into the other side's site file (keys.peers) "
		 "or command (--service-key); the secret one stays in its FILE.",
	.request = &(struct request){ 0 },
	.run = run_key,
};
