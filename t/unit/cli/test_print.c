/* Rows of a tree of values. */
#include "t.h"
#include "cli_json_put.h"
#include "cli_print.h"

#define TREE \
	"{ \"name\": \"a|b\", \"since\": 0, \"none\": null," \
	"\"runs\": [ { \"id\": 7, \"ok\": true, \"sec\": 0.25, \"in\": { \"n\": 1 }," \
	"\"parts\": [ { \"p\": \"x\", \"q\": 1 }, { \"p\": \"y,z\" } ] }," \
	"{ \"id\": 8, \"ok\": false, \"parts\": [] } ]," \
	"\"models\": { \"m\": { \"v\": 2 }, \"without\": null }," \
	"\"bins\": [ [ 1, 2 ], [ 3, 4 ] ] }"

/* clang-format off */
static const struct {
	const char *name;
	enum cli_format format;
	struct cli_table table;
	const char *want;
} rows[] = {
	{ "the tree itself; a separator within a text is none", CLI_PARSABLE,
	  { "Name|None|Missing", { { "", "name|none|missing" } } },
	  "Name|None|Missing\na_b||\n" },
	{ "a row for each record of a list", CLI_PARSABLE,
	  { "Id|Ok|Sec|N", { { "runs", "id|ok|sec|in/n" } } },
	  "Id|Ok|Sec|N\n7|yes|0.25|1\n8|no||\n" },
	{ "from the record around it, words, lengths, the first of a list",
	  CLI_PARSABLE,
	  { "A|B|C|D", { { "runs", "../name|=run|#parts|parts/0/p" } } },
	  "A|B|C|D\na_b|run|2|x\na_b|run|0|\n" },
	{ "a list within a list stands below its record", CLI_PARSABLE,
	  { "Id|P|At", { { "runs", "id||%" }, { "runs parts", "../id|p|%" } } },
	  "Id|P|At\n7||0\n7|x|0\n7|y,z|1\n8||1\n" },
	{ "lists that begin with the same letters are two", CLI_PARSABLE,
	  { "A", { { "run", "." }, { "runs", "id" } } }, "A\n7\n8\n" },
	{ "an object is the list of its members", CLI_PARSABLE,
	  { "Model|V", { { "models", "%|v" } } },
	  "Model|V\nm|2\nwithout|\n" },
	{ "lists in a field", CLI_PARSABLE,
	  { "Bins|Parts", { { "", "bins|runs/0/parts:p:q" } } },
	  "Bins|Parts\n1:2,3:4|x:1,y,z:\n" },
	{ "a field may be the first and empty, and a date not known",
	  CLI_PARSABLE, { "A|Since", { { "", "|@since" } } }, "A|Since\n|\n" },
	{ "CSV", CLI_CSV, { "p,q", { { "runs parts", "p|q" } } },
	  "p,q\nx,1\ny z,\n" },
	{ "a list that is not there has no rows", CLI_PARSABLE,
	  { "A|B", { { "others", "a|b" } } }, "A|B\n" },
};
/* clang-format on */

T_TEST("rows have what JSON has")
{
	T_EACH(r, rows) {
		FILE *was = stdout;
		char *text = NULL;
		size_t len;

		stdout = open_memstream(&text, &len);
		cli_print_output(r->format, "test", json_tokener_parse(TREE),
				 &r->table);
		fclose(stdout);
		stdout = was;
		T_ROW(r->name, !strcmp(text, r->want));
		free(text);
	}
}

T_TEST("numbers that JSON cannot express become null")
{
	json_object *object = json_object_new_object();

	cli_put_real(object, "real", NAN);
	cli_put_computed(object, "computed", INFINITY);
	cli_put_time(object, "no_date", NAN);
	cli_put_real(object, "zero", -0.0);
	cli_put_time(object, "date", 1718182100.0625);
	T_CHECK(!strcmp(json_object_to_json_string_ext(object,
						       JSON_C_TO_STRING_PLAIN),
			"{\"real\":null,\"computed\":null,\"no_date\":null,"
			"\"zero\":0,\"date\":1718182100.062}"));
	json_object_put(object);
}

/* clang-format off */
static const struct {
	const char *name, *sort, *jobs, *want;
} sorts[] = {
	{ "numbers by value", "Id", "[9,10,-1,0.5]", "-1\n0.5\n9\n10\n" },
	{ "jobs, and tasks of arrays", "Id",
	  "[\"10\",\"12_10\",\"9\",\"12_3\",\"100\"]",
	  "9\n10\n12_3\n12_10\n100\n" },
	{ "descending, and empty fields last", "-Id",
	  "[\"\",\"10\",\"9\",\"12_3\"]", "12_3\n10\n9\n\n" },
	{ "names after numbers, none of them a number", "Id",
	  "[\"nano\",\"infer\",\"fft\",\"2\"]", "2\nfft\ninfer\nnano\n" },
};
/* clang-format on */

T_TEST("rows are sorted by a field")
{
	const struct cli_table table = { "Id|Kind", { { "jobs", ".|=job" } } };

	for (size_t i = 0; i < NP_ARRAY_SIZE(sorts); i++) {
		const struct cli_row_selection selection = {
			.any = true,
			.noheader = true,
			.fields = "id",
			.sort = sorts[i].sort,
		};
		json_object *tree = json_object_new_object();
		FILE *was = stdout;
		char *text = NULL;
		size_t len;

		json_object_object_add(tree, "jobs",
				       json_tokener_parse(sorts[i].jobs));
		cli_print_select(&selection);
		stdout = open_memstream(&text, &len);
		cli_print_output(CLI_PARSABLE, "test", tree, &table);
		fclose(stdout);
		stdout = was;
		T_ROW(sorts[i].name, !strcmp(text, sorts[i].want));
		free(text);
	}
	cli_print_select(&(struct cli_row_selection){ .any = false });
}
