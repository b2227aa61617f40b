/*
 * The options of netprof sharing and netprof replay that describe network
 * models.
 */
#include "cli_network.h"

#include <errno.h>
#include <string.h>

#include "np_option.h"

static const char *const usual[] = { "gige", "myrinet", "infiniband",
				     "maxmin" };

void cli_network_init(struct cli_network *net)
{
	*net = (struct cli_network){ .param = NP_SHARING_DEFAULTS };
	for (size_t i = 0; i < NP_ARRAY_SIZE(usual); i++)
		net->model[net->n++] = np_sharing_find(usual[i], NULL);
}

int cli_network_models(char *text, void *at, struct np_err *err)
{
	struct cli_network *net = at;
	char *save = NULL;

	net->n = 0;
	for (char *w = strtok_r(text, ",", &save); w;
	     w = strtok_r(NULL, ",", &save)) {
		const struct np_sharing_model *m = np_sharing_find(w, err);

		if (!m)
			return -EINVAL;
		for (size_t i = 0; i < net->n; i++)
			if (net->model[i] == m)
				return np_errf(err, -EINVAL,
					       "--model: %s is given twice",
					       m->name);
		net->model[net->n++] = m;
	}
	return net->n ? 0 :
			np_errf(err, -EINVAL,
				"--model: expected names, separated by commas");
}

/*
 * The parameter with this name, which is marked as set; NULL if there is none.
 */
static double *member(struct cli_network *net, const char *name)
{
	for (size_t i = 0; i < np_sharing_n_members; i++)
		if (!strcmp(np_sharing_members[i].name, name)) {
			net->set |= 1u << i;
			return np_sharing_value(&net->param,
						&np_sharing_members[i]);
		}
	return NULL;
}

/* Whether a model is selected. */
static bool selects(const struct cli_network *net, const char *model)
{
	for (size_t i = 0; i < net->n; i++)
		if (!strcmp(net->model[i]->name, model))
			return true;
	return false;
}

int cli_network_check(const struct cli_network *net, const struct cli_cmd *cmd)
{
	for (size_t i = 0; i < np_sharing_n_members; i++) {
		const struct np_sharing_member *m = &np_sharing_members[i];

		if (net->set & 1u << i && *m->model && !selects(net, m->model))
			return cli_usage(
				cmd,
				"--set=%s has no effect without --model=%s",
				m->name, m->model);
	}
	return -1;
}

int cli_network_set(char *text, void *at, struct np_err *err)
{
	struct cli_network *net = at;
	struct np_err why = NP_ERR_INIT;
	char *save = NULL, *w = strtok_r(text, ",", &save);

	if (!w)
		return np_errf(err, -EINVAL, "--set: expected NAME=NUMBER,...");
	for (; w; w = strtok_r(NULL, ",", &save)) {
		char *value = strchr(w, '=');
		const char *end;
		double *param;

		if (value)
			*value++ = '\0';
		param = member(net, w);
		if (!param)
			return np_errf(
				err, -EINVAL,
				"--set: no parameter \"%.40s\", expected beta, "
				"gamma_o, gamma_i, be, bs, gs or fabric",
				w);
		if (!value || !*value)
			return np_errf(err, -EINVAL,
				       "--set: expected %s=NUMBER", w);
		end = np_decimal_parse(value, param);
		if (!end || *end)
			return np_errf(err, -EINVAL,
				       "--set: %s=%.40s: expected a number", w,
				       value);
	}
	if (np_sharing_check(&net->param, &why))
		return np_errf(err, -EINVAL, "--set: %s", why.text);
	return 0;
}
