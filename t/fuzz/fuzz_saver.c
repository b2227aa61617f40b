/*
 * What any user of a node can send to netprof-saver: a header and its fields;
 * and what the saver may answer, a choice of levels, which must print as it was
 * parsed.
 */
#include <string.h>

#include "fuzz/fuzz.h"
#include "np_saver_proto.h"
#include "np_select_level.h"

static void parse_choice(const char *text)
{
	struct np_selection c, again;
	char *printed;

	if (np_selection_parse(text, &c))
		return;
	printed = np_selection_print(&c);
	if (!printed || np_selection_parse(printed, &again) ||
	    strcmp(c.level, again.level) ||
	    c.earlier.n_intervals != again.earlier.n_intervals)
		abort();
	np_earlier_intervals_free(&c.earlier);
	np_earlier_intervals_free(&again.earlier);
	free(printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *field[NP_SAVER_MAX_FIELDS], *text = malloc(size + 1);
	struct np_saver_header h;
	size_t n;

	if (!text)
		return 0;
	if (size >= sizeof(h)) {
		memcpy(&h, data, sizeof(h));
		if (np_saver_header_is_valid(&h) && h.len > NP_SAVER_MAX_BYTES)
			abort();
	}
	memcpy(text, data, size);
	text[size] = '\0';
	parse_choice(text);
	n = np_saver_unpack(text, size, field);
	for (size_t i = 0; i < n; i++)
		if (field[i] < text ||
		    field[i] + strlen(field[i]) >= text + size)
			abort();
	free(text);
	return 0;
}
