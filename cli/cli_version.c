#include "cli_version.h"

#include <ctype.h>
#include <stdlib.h>

/* One part of a version; more than a byte is none. */
static bool part(const char **p, uint32_t *version)
{
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	n = strtoul(*p, &end, 10);
	if (n > 255)
		return false;
	*p = end;
	*version = *version << 8 | (uint32_t)n;
	return true;
}

static bool parse_here(const char *p, uint32_t *out)
{
	uint32_t version = 0;

	if (!part(&p, &version) || *p++ != '.' || !part(&p, &version))
		return false;
	if (*p != '.')
		version <<= 8;
	else if (p++, !part(&p, &version))
		return false;
	*out = version;
	return true;
}

bool cli_version_parse(const char *text, uint32_t *out)
{
	unsigned char before = ' ';

	for (const char *p = text; *p; before = (unsigned char)*p++)
		if (isdigit((unsigned char)*p) && isspace(before))
			return parse_here(p, out);
	return false;
}
