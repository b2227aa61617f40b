#include "np_app.h"

#include <errno.h>
#include <string.h>

static int is_app_char(unsigned char byte)
{
	/* Not isalnum(), which depends on the user's locale. */
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || (byte && strchr("._+-", byte));
}

static int is_app_first_char(unsigned char byte)
{
	return is_app_char(byte) && byte != '.' && byte != '-';
}

int np_app_check(const char *name, struct np_err *err)
{
	static const char *expected = "expected 1 to 64 letters, digits or "
				      "\"._+-\", not starting with . or -";
	size_t len = strnlen(name, NP_APP_MAX + 1);
	int ok = len && len <= NP_APP_MAX && is_app_first_char(name[0]);

	for (size_t i = 0; ok && i < len; i++)
		ok = is_app_char(name[i]);
	if (!ok)
		return np_errf(err, -EINVAL, "application name \"%.80s\": %s",
			       name, expected);
	return 0;
}

int np_app_from_text(const char *text, char app[NP_APP_MAX + 1])
{
	int has_letter_or_digit = 0;
	size_t i;

	text = basename(text);
	for (i = 0; i < NP_APP_MAX && text[i]; i++)
		has_letter_or_digit |= is_app_char(text[i]) &&
				       !strchr("._+-", text[i]);
	if (!has_letter_or_digit)
		return -EINVAL;
	for (i = 0; i < NP_APP_MAX && text[i]; i++)
		app[i] = is_app_char(text[i]) ? text[i] : '_';
	app[i] = '\0';
	if (!is_app_first_char(app[0]))
		app[0] = '_';
	return 0;
}
