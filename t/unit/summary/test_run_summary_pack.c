#include "t.h"
#include "np_run_summary.h"

#include <glob.h>

#include "np_predict.h"
#include "np_read.h"

static struct np_calibration cal;

static char *text_of(const char *path, size_t *len)
{
	char *text = NULL;

	T_CHECK(!np_read_file(path, 1u << 20, &text, len, NULL));
	return text;
}

static void load_calibration(const char *name)
{
	size_t len = 0;
	char *text = text_of(t_data(name), &len);

	T_CHECK(!np_calibration_parse(text, len, name, &cal, NULL));
	free(text);
}

/* Of the store of fixtures. */
static struct np_run_summary summary_of(const char *app)
{
	const struct np_run_summary_opt opt = { .calibration = &cal };
	struct np_runs runs = { .n = 0 };
	struct np_run_summary e = { .n_used = 0 };
	glob_t g;

	T_CHECK(!glob(t_text("%s/%s/*", t_data("store/own"), app), 0, NULL,
		      &g));
	runs.run = calloc(g.gl_pathc, sizeof(*runs.run));
	strcpy(runs.app, app);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		size_t len = 0;
		char *text = text_of(g.gl_pathv[i], &len);

		T_CHECK(!np_record_from_json(text, len, "", &runs.run[runs.n++],
					     NULL));
		free(text);
	}
	globfree(&g);
	T_CHECK(!np_run_summary_make(&runs, &opt, &e));
	np_run_summary_detach(&e, app);
	np_runs_free(&runs);
	return e;
}

static char *packed(const struct np_run_summary *e, size_t *len)
{
	char *data;
	FILE *f = open_memstream(&data, len);

	np_run_summary_pack(f, e);
	T_CHECK(!fclose(f));
	return data;
}

static int unpack(const char *data, size_t len, const char *name,
		  struct np_run_summary *out)
{
	struct np_pack u = { .at = data, .left = len };

	return np_run_summary_unpack(&u, cal.fabric, name, out);
}

/* One with the other, also by the model that falls back on latencies. */
static struct np_prediction predict(const char *model,
				    const struct np_run_summary *v,
				    const struct np_run_summary *co)
{
	const struct np_predict_opt opt = { .replicates = 50, .seed = 1 };
	const struct np_program *loaded = &co->program;
	struct np_prediction out = { .slowdown = 0 };
	struct np_predictor *p = NULL;

	T_CHECK(!np_predictor_new(cal.fabric, np_model_find(model, NULL), &opt,
				  &p, NULL));
	T_CHECK(!np_predict(p, &v->program, &loaded, 1, NP_SCOPE_LEAF, &out,
			    NULL));
	np_predictor_free(p);
	return out;
}

T_TEST("predictions are the same as before it was packed")
{
	static const char *const models[] = { NP_MODEL_DEFAULT, "mixture" };
	static const char *const names[] = { "fft", "halo" };
	struct np_run_summary e[2], back[2];

	load_calibration("store/fabric/hpc/20240523T100000Z.json");
	for (int i = 0; i < 2; i++) {
		size_t len;
		char *data;

		e[i] = summary_of(names[i]);
		e[i].rails = e[i].rails ? e[i].rails : strdup("r0,r1");
		e[i].program.rails = e[i].rails;
		data = packed(&e[i], &len);
		T_ROW(names[i], !unpack(data, len, names[i], &back[i]));
		T_CHECK(back[i].n_used == e[i].n_used && e[i].n_used > 0);
		T_CHECK(back[i].n_curve == e[i].n_curve && e[i].n_curve > 0);
		T_CHECK(!strcmp(back[i].program.rails, "r0,r1"));
		free(data);
	}
	for (size_t m = 0; m < NP_ARRAY_SIZE(models); m++) {
		struct np_prediction x = predict(models[m], &e[0], &e[1]);
		struct np_prediction y = predict(models[m], &back[0], &back[1]);

		T_ROW(models[m], x.slowdown == y.slowdown && x.slowdown > 0);
		T_ROW(models[m], x.low == y.low && x.high == y.high);
		T_ROW(models[m], x.model == y.model && x.more == y.more &&
					 x.more_level == y.more_level &&
					 x.flags == y.flags);
	}
	for (int i = 0; i < 2; i++) {
		np_run_summary_free(&e[i]);
		np_run_summary_free(&back[i]);
	}
	np_calibration_free(&cal);
}

T_TEST("what is damaged or of another fabric is refused")
{
	struct np_run_summary e, back;
	size_t len;
	char *data;

	load_calibration("store/fabric/hpc/20240523T100000Z.json");
	e = summary_of("halo");
	data = packed(&e, &len);
	for (size_t cut = 0; cut < len; cut++)
		T_ROW("cut", unpack(data, cut, "halo", &back) == -EINVAL);
	for (size_t at = 0; at < len; at++) { /* never more than wrong */
		data[at] ^= (char)0xff;
		if (!unpack(data, len, "halo", &back))
			np_run_summary_free(&back);
		data[at] ^= (char)0xff;
	}
	np_calibration_free(&cal);
	load_calibration("calibration.json");
	T_ROW("another fabric", unpack(data, len, "halo", &back) == -EINVAL);
	np_calibration_free(&cal);
	np_run_summary_free(&e);
	free(data);
}
