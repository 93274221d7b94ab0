/* test/unit/board/tool/test_json.c - the reader of status documents */
#include "board/tool/json.h"
#include "test/support/check.h"

#include <string.h>

int main(void)
{
	static const char doc[] =
		"{\"a\":1.5,\"s\":\"x\\\"}]y\", \"o\":{\"a\":-2,\"t\":\"in\"},\n\"l\":[{\"n\":1},"
		"{\"n\":2,\"m\":[1,[2]]},\"]\",7],\"e\":[],\"b\":true,\"z\":{}}";
	static const char *const broken[] = { "",           "{",          "{\"a\"",   "{\"a\":",
					      "{\"a\":\"x", "{\"b\":[1,", "{\"b\":1", "[1]" };
	char text[32] = "old";
	double v = 9.0;
	size_t len = 0;
	const char *at;

	CHECK(bs_json_number(doc, "a", &v) && v == 1.5, "a number: %g", v);
	CHECK(!bs_json_number(doc, "s", &v) && !bs_json_number(doc, "n", &v) && v == 1.5,
	      "a string is none, nor what stands deeper");
	bs_json_text(doc, "s", text, sizeof(text));
	CHECK(strcmp(text, "x\"}]y") == 0, "a text with its escapes taken out: %s", text);
	bs_json_text(doc, "s", text, 3);
	CHECK(strcmp(text, "x\"") == 0, "and cut to fit: %s", text);
	bs_json_text(doc, "none", text, sizeof(text));
	CHECK(text[0] == '\0', "no text is empty");
	at = bs_json_member(doc, "o", &len);
	CHECK(at != NULL && len == 17 && bs_json_number(at, "a", &v) && v == -2.0,
	      "an object of %zu characters, and inside", len);
	at = bs_json_member(doc, "b", &len);
	CHECK(at != NULL && len == 4 && strncmp(at, "true", 4) == 0, "a word");
	at = bs_json_first(bs_json_member(doc, "l", &len), &len);
	CHECK(bs_json_number(at, "n", &v) && v == 1.0, "the first of a list");
	at = bs_json_next(at, &len);
	CHECK(at != NULL && bs_json_number(at, "n", &v) && v == 2.0, "the second");
	at = bs_json_next(at, &len);
	CHECK(at != NULL && *at == '"', "a bracket in a string ends nothing");
	at = bs_json_next(at, &len);
	CHECK(at != NULL && *at == '7' && bs_json_next(at, &len) == NULL, "the last");
	CHECK(bs_json_first(bs_json_member(doc, "e", &len), &len) == NULL, "an empty list");
	CHECK(bs_json_member(bs_json_member(doc, "z", &len), "a", &len) == NULL, "an empty object");
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		CHECK(bs_json_member(broken[i], "x", &len) == NULL, "no JSON: %s", broken[i]);
	CHECK(bs_json_member(NULL, "x", &len) == NULL && bs_json_first(NULL, &len) == NULL,
	      "nothing in nothing");
	return check_done();
}
