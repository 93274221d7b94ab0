/*
 * board/certify/certificate.h - a certificate as text
 *
 * For certificate.c and certificate_json.c alone; who writes one: certify.h. json: all of it, one object;
 * what f has refused, ferror tells. Test: test/replay/certify.sh
 */
#ifndef BS_BOARD_CERTIFY_CERTIFICATE_H
#define BS_BOARD_CERTIFY_CERTIFICATE_H

#include <stdio.h>

#include "board/certify/certify.h"

#define MS 1e-6 /* of a nanosecond */

void bs_certificate_json(FILE *f, const struct bs_certificate *c);

#endif
