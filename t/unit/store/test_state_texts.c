/* States as others may write them: damaged, impossible, hostile. */
#include "t.h"
#include "np_read.h"
#include "some_state.h"

static const struct {
	const char *name, *text;
	int rc;
	const char *says;
} texts[] = {
	{ "the least there is", "{\"schema\":1}", 0, "" },
	{ "as another program lays it out",
	  " { \"jobs\" : [ { \"uid\" : 1 , \"id\" : 2 } , {\"id\":3,\"uid\":1}"
	  " ]\n, \"schema\" : 1 , \"leaves\" : [ ] , \"x\" : { \"jobs\" : [ 1 "
	  "] "
	  "} }\n",
	  0, "" },
	{ "brackets and quotes in a text",
	  "{\"schema\":1,\"cluster\":\"a]}\\\"{[\",\"jobs\":[{\"id\":1,"
	  "\"uid\":1,\"text\":\"}],\\\\\"}]}",
	  0, "" },
	{ "empty", "", -EINVAL, "damaged" },
	{ "no object", "[]", -EINVAL, "damaged" },
	{ "cut in the middle", "{\"schema\":1,\"jobs\":[{\"id\":1,", -EINVAL,
	  "damaged" },
	{ "more after the end", "{\"schema\":1} x", -EINVAL, "damaged" },
	{ "no comma", "{\"schema\":1 \"mode\":\"off\"}", -EINVAL, "damaged" },
	{ "an endless string", "{\"schema\":1,\"mode\":\"off}", -EINVAL,
	  "damaged" },
	{ "no schema", "{}", -EINVAL, "schema: expected a value" },
	{ "a newer schema", "{\"schema\":2,\"jobs\":7}", -EINVAL,
	  "schema 2 is newer than 1" },
	{ "a schema of words", "{\"schema\":\"1\"}", -EINVAL,
	  "schema: expected a whole number" },
	{ "jobs that are no list", "{\"schema\":1,\"jobs\":{\"id\":1}}",
	  -EINVAL, "jobs: expected a whole array" },
	{ "a job that is no object", "{\"schema\":1,\"jobs\":[[]]}", -EINVAL,
	  "jobs[0]: expected an object" },
	{ "a job without number", "{\"schema\":1,\"jobs\":[{\"uid\":1}]}",
	  -EINVAL, "jobs[0].id: expected a value" },
	{ "brackets that do not match",
	  "{\"schema\":1,\"jobs\":[{\"id\":1,\"uid\":1,\"x\":[}}]}", -EINVAL,
	  "damaged" },
	{ "an id beyond 32 bits",
	  "{\"schema\":1,\"jobs\":[{\"id\":4294967296,\"uid\":1}]}", -EINVAL,
	  "jobs[0].id: got 4294967296" },
	{ "true for a number", "{\"schema\":1,\"date\":true}", -EINVAL,
	  "date: expected a number" },
	{ "a number for a truth",
	  "{\"schema\":1,\"jobs\":[{\"id\":1,\"uid\":1,\"known\":1}]}", -EINVAL,
	  "jobs[0].known: expected true or false" },
	{ "null", "{\"schema\":1,\"mode\":null}", -EINVAL, "damaged" },
	{ "no number at all", "{\"schema\":1,\"date\":NaN}", -EINVAL, "" },
	{ "a gain of more than everything",
	  "{\"schema\":1,\"leaves\":[{\"strain\":-2}]}", -EINVAL,
	  "leaves[0].strain: got -2" },
	{ "a denied name that is no object", "{\"schema\":1,\"claims\":[1]}",
	  -EINVAL, "claims[0]: expected an object" },
	{ "a denied name of nobody", "{\"schema\":1,\"claims\":[{}]}", -EINVAL,
	  "claims[0].uid: expected a value" },
	{ "a leaf that is no object", "{\"schema\":1,\"leaves\":[1]}", -EINVAL,
	  "leaves[0]: expected an object" },
	{ "too many causes",
	  "{\"schema\":1,\"jobs\":[{\"id\":1,\"uid\":1,\"causes\":["
	  "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}]}",
	  -EINVAL, "jobs[0].causes: got 17" },
	{ "deeper than anything is",
	  "{\"schema\":1,\"jobs\":[{\"id\":1,\"uid\":1,\"x\":[[[[[[[[[[[[[[[["
	  "[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}]}",
	  -EINVAL, "damaged" },
};

T_TEST("hostile texts are refused with the reason")
{
	T_EACH(r, texts) {
		struct np_err err;
		struct np_state s;
		int rc;

		fresh_store();
		write_text("state.json", r->text);
		rc = load(&s, &err);
		T_ROW(r->name, rc == r->rc);
		T_ROW(r->name, strstr(err.text, r->says) != NULL);
		T_ROW(r->name,
		      !rc || strstr(err.text, path("state.json")) == err.text);
		if (!rc)
			np_state_free(&s);
	}
}

T_TEST("every cut of a state is refused")
{
	char *text = NULL;
	size_t len = 0, taken = 0;

	fresh_store();
	T_CHECK(save() == 0);
	T_CHECK(!np_read_file(path("state.json"), 8192, &text, &len, NULL));
	T_CHECK(len > 500);
	for (size_t i = 0; i + 2 < len; i++) {
		t_write(path("state.json"), text, i);
		taken += !load_rc();
	}
	T_CHECK(taken == 0);
	free(text);
}

T_TEST("hostile texts do not reach a terminal")
{
	struct np_state s;
	struct np_err err;

	fresh_store();
	write_text("state.json", "{\"schema\":1,\"trouble\":\"\\u001b[2Jx\"}");
	T_CHECK(load(&s, &err) == 0);
	T_CHECK(same(s.trouble, "?[2Jx"));
	np_state_free(&s);
}

T_TEST("a huge state is not read")
{
	fresh_store();
	write_text("state.json", "{\"schema\":1}");
	T_CHECK(!truncate(path("state.json"), NP_STATE_MAX_BYTES + 1L));
	T_CHECK(load_rc() == -EFBIG);
}
