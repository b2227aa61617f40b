/* netprof check --json */
#include "cli_check.h"
#include "cli_json_put.h"

int cli_check_json(const struct cli_check *c)
{
	json_object *j = json_object_new_object();
	json_object *list = cli_put_array(j, "checks");
	bool problem = false;

	for (size_t i = 0; i < c->n; i++) {
		const struct cli_finding *f = &c->found[i];
		json_object *one = cli_append_object(list);

		cli_put_text(one, "result", cli_result_name(f->result));
		cli_put_text(one, "about", f->about);
		cli_put_text(one, "text", f->text);
		cli_put_text(one, "remedy", f->remedy);
		problem |= f->result == CLI_PROBLEM;
	}
	cli_put_bool(j, "problem", problem);
	return cli_print_json("check", j);
}
