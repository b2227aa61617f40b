/*
 * LogGPS parameters in the store: whatever the bytes, they are refused with a
 * line or taken; what is taken can be computed with, and written and read
 * again.
 */
#include <math.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "np_loggps_store.h"

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void again(const struct np_loggps_record *r)
{
	struct np_loggps_record back;
	char *text;

	must(!np_loggps_record_put(r, &text, NULL));
	must(!np_loggps_record_get(text, strlen(text), "again", &back, NULL));
	must(!strcmp(back.transport, r->transport));
	must(back.fit.S == r->fit.S);
	np_loggps_record_free(&back);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_err err = NP_ERR_INIT;
	struct np_loggps_record r;
	struct np_loggps net;

	if (np_loggps_record_get((const char *)data, size, "fuzz", &r, &err)) {
		must(err.text[0]);
		return 0;
	}
	np_loggps_of_fit(&r.fit, &net);
	must(net.L_ns >= 0 && net.o_ns >= 0 && net.G_ns >= 0 &&
	     isfinite(net.L_ns + net.o_ns + net.G_ns));
	again(&r);
	np_loggps_record_free(&r);
	return 0;
}
