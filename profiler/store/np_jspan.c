#include "np_jspan.h"

#include <string.h>

bool np_jspan_within(const char *text, size_t len,
		     const struct np_jlimits *max)
{
	struct np_jlimits n = { 0 };

	for (size_t i = 0; i < len; i++) {
		n.objects += text[i] == '{';
		n.arrays += text[i] == '[';
		n.elements += text[i] == ',';
	}
	return n.objects <= max->objects && n.arrays <= max->arrays &&
	       n.elements <= max->elements;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip(struct np_jspan *s, size_t n)
{
	s->text += n;
	s->len -= n;
}

static void skip_blanks(struct np_jspan *s)
{
	while (s->len && is_blank(*s->text))
		skip(s, 1);
}

static bool take(struct np_jspan *s, char c)
{
	skip_blanks(s);
	if (!s->len || *s->text != c)
		return false;
	skip(s, 1);
	return true;
}

/* Length of the string that begins at text[at], quotes included; 0: no end. */
static size_t string_len(const char *text, size_t len)
{
	for (size_t i = 1; i < len; i++) {
		if (text[i] == '\\')
			i++;
		else if (text[i] == '"')
			return i + 1;
	}
	return 0;
}

/* Brackets are counted; whether they match, the parser will tell. */
static size_t nested_len(const char *text, size_t len)
{
	size_t depth = 0, i = 0;

	while (i < len) {
		char c = text[i];

		if (c == '"') {
			size_t n = string_len(text + i, len - i);

			if (!n)
				return 0;
			i += n;
			continue;
		}
		i++;
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		if (!depth)
			return i;
	}
	return 0;
}

static size_t scalar_len(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && !is_blank(text[i]) && !strchr(",:]}", text[i]))
		i++;
	return i;
}

static bool value_of(struct np_jspan *s, struct np_jspan *out)
{
	size_t len;

	skip_blanks(s);
	if (!s->len)
		return false;
	len = *s->text == '"' ? string_len(s->text, s->len) :
	      *s->text == '{' || *s->text == '[' ?
		nested_len(s->text, s->len) : scalar_len(s->text, s->len);
	*out = (struct np_jspan){ s->text, len };
	skip(s, len);
	return len;
}

static bool key_of(struct np_jspan *s, struct np_jspan *key)
{
	skip_blanks(s);
	if (!s->len || *s->text != '"' || !value_of(s, key) || !take(s, ':'))
		return false;
	key->text++;
	key->len -= 2;
	return true;
}

int np_jspan_next(struct np_jwalk *w, struct np_jspan *key,
		  struct np_jspan *value)
{
	struct np_jspan *rest = &w->rest;

	if (!w->begun && !take(rest, key ? '{' : '['))
		return -1;
	if (take(rest, key ? '}' : ']')) {
		skip_blanks(rest);
		return rest->len ? -1 : 0;
	}
	if (w->begun && !take(rest, ','))
		return -1;
	w->begun = true;
	if ((key && !key_of(rest, key)) || !value_of(rest, value))
		return -1;
	return 1;
}
