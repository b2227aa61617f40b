/*
 * Writing JSON by tables.  What a reader would refuse is refused here: better
 * told to its writer than to each reader.
 */
#include "np_fields.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "np_jmean.h"
#include "np_record.h"

/* o is inside of a member while it is written. */
static void put_inside(struct np_jput *o, const struct np_jat *inside,
		       json_object *j, const void *from,
		       const struct np_fields *fs)
{
	struct np_jat outside = o->at;

	o->at = *inside;
	if (j)
		np_jput_fields(o, j, from, fs);
	o->at = outside;
}

static void put_object(struct np_jput *o, json_object *in,
		       const struct np_field *f, const void *from,
		       const struct np_fields *of)
{
	struct np_jat inside = np_jat_member(&o->at, f->key);

	put_inside(o, &inside, np_jput_new(o, in, f->key,
					   json_object_new_object()), from, of);
}

static void put_moments(struct np_jput *o, json_object *in,
			const struct np_field *f, const struct np_moments *m)
{
	static const struct np_moments empty;

	/* The range of an empty set is not defined. */
	put_object(o, in, f, m->n ? m : &empty, &np_moments_fields);
	if (!np_moments_fit(m, f->max))
		np_jput_refuse(o, f->key, NP_NO_MOMENTS);
}

/* Forecasts of crowds grow without limit; readers have one. */
static double real_of(const struct np_field *f, double v)
{
	if (!(f->flags & NP_F_CLAMP))
		return v;
	return v > f->max ? f->max : v < f->min ? f->min : v;
}

static json_object *count_of(struct np_jput *o, const struct np_field *f,
			     double v)
{
	return np_jput_count(o, f->key, v, f->max);
}

static void put_list(struct np_jput *o, json_object *in,
		     const struct np_field *f, const void *from,
		     const char *all)
{
	size_t n = *(const size_t *)((const char *)from + f->count);
	json_object *list;

	if (!n && f->flags & NP_F_NOT_EMPTY)
		return;
	if (f->bins)
		np_jput_bins(o, in, f->bins);
	list = np_jput_new(o, in, f->key, json_object_new_array());
	if ((double)n > f->max && f->flags & NP_F_CLAMP)
		n = (size_t)f->max;
	else
		json_object_put(count_of(o, f, (double)n));
	for (size_t i = 0; list && i < n && !o->rc; i++) {
		struct np_jat inside = np_jat_element(&o->at, f->key, i);

		if (f->type == NP_F_TEXTS)
			np_jput_append(o, list, np_jput_text(
				((char *const *)all)[i], f->text_max));
		else
			put_inside(o, &inside, np_jput_append_new(o, list,
				   json_object_new_object()),
				   all + i * f->of->size, f->of);
	}
}

static void put_text(struct np_jput *o, json_object *in,
		     const struct np_field *f, const char *text)
{
	if (text)
		np_jput(o, in, f->key, np_jput_text(text, (size_t)f->max));
}

static void put_plain(struct np_jput *o, json_object *in,
		      const struct np_field *f, const void *at)
{
	json_object *j = NULL;

	switch (f->type) {
	case NP_F_SCHEMA:
		j = json_object_new_int((int)f->max);
		break;
	case NP_F_U32:
		j = count_of(o, f, *(const uint32_t *)at);
		break;
	case NP_F_U64:
		j = count_of(o, f, (double)*(const uint64_t *)at);
		break;
	case NP_F_LONG:
		if (*(const long *)at == NP_NO_VALUE)
			return;
		j = count_of(o, f, (double)*(const long *)at);
		break;
	case NP_F_REAL:
		if (f->flags & NP_F_NAN && isnan(*(const double *)at))
			return;
		j = np_jput_real(o, f->key, real_of(f, *(const double *)at),
				 f->min, f->max,
				 f->flags & NP_F_NINE ? 9 : 15,
				 f->flags & NP_F_NINE ? 9 : 17);
		break;
	case NP_F_BOOL:
		j = json_object_new_boolean(*(const bool *)at);
		break;
	case NP_F_APP:
	case NP_F_NAME:
		j = json_object_new_string((const char *)at);
		break;
	default:
		j = json_object_new_string(f->words[*(const unsigned *)at]);
	}
	np_jput(o, in, f->key, j);
}

static const void *pointer_at(const char *at)
{
	const void *points;

	memcpy(&points, at, sizeof(points));
	return points;
}

/* Those with no limit of their own are bins, which nobody writes. */
static void put_numbers(struct np_jput *o, json_object *in,
			const struct np_field *f, const char *from)
{
	size_t n = *(const size_t *)(from + f->count);
	const double *v = pointer_at(from + f->offset);
	json_object *list;

	if (!n || !(f->min > 0))
		return;
	json_object_put(count_of(o, f, (double)n));
	list = np_jput_new(o, in, f->key, json_object_new_array());
	for (size_t i = 0; list && i < n && !o->rc; i++)
		np_jput_append(o, list, np_jput_real(o, f->key, v[i], 0,
						     f->min, 15, 17));
}

static void put_field(struct np_jput *o, json_object *in,
		      const struct np_field *f, const char *from)
{
	const uint64_t *samples = (const uint64_t *)(from + f->count);
	const char *at = from + f->offset;

	switch (f->type) {
	case NP_F_TEXT:
		put_text(o, in, f, *(char *const *)at);
		break;
	case NP_F_MOMENTS:
		put_moments(o, in, f, (const void *)at);
		break;
	case NP_F_OBJECT:
		put_object(o, in, f, at, f->of);
		break;
	case NP_F_PART:
		if (pointer_at(at))
			put_object(o, in, f, pointer_at(at), f->of);
		break;
	case NP_F_LIST:
	case NP_F_TEXTS:
		put_list(o, in, f, from, pointer_at(at));
		break;
	case NP_F_HIST:
		np_jput_hist(o, in, f->key, pointer_at(at), *samples);
		break;
	case NP_F_SERIES:
		np_jput_series(o, in, f->key, pointer_at(at), *samples);
		break;
	case NP_F_MEAN:
		np_jput_mean(o, in, f->key, (const void *)at);
		break;
	case NP_F_MEANS:
		np_jput_means(o, in, f, from);
		break;
	case NP_F_LATENCY:
		np_jput_latency(o, in, f->key, (const void *)at);
		break;
	case NP_F_NUMBERS:
		put_numbers(o, in, f, from);
		break;
	default:
		put_plain(o, in, f, at);
	}
}

void np_jput_fields(struct np_jput *o, json_object *in, const void *from,
		    const struct np_fields *fs)
{
	for (size_t i = 0; i < fs->n && !o->rc; i++)
		put_field(o, in, &fs->field[i], from);
}
