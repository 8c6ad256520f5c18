/*
 * catalogue.c - LAPI_Msg_string in a locale that is not English: with and without a message
 * catalogue. The locale is a copy of C.utf8 under another name, the catalogue is made by gencat;
 * without these two tools of the system, the cases are skipped.
 */
#define _GNU_SOURCE
#include "host.h"

#include <errno.h>
#include <locale.h>
#include <stdarg.h>

#define LOCALE "xx_XX.utf8"

static int skipped;
static char folder[] = "/tmp/lapi-catalogue-XXXXXX";

/* Runs a shell command; whether it succeeded. */
static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof command, format, args);
	va_end(args);
	return system(command) == 0;
}

static int make_locale(void)
{
	return shell("d=$(ls -d /usr/lib/locale/C.utf8 /usr/lib/locale/C.UTF-8 2>/dev/null | head -n 1) && test -n \"$d\" && "
	             "cp -r \"$d\" %s/" LOCALE,
	             folder) &&
	       setenv("LOCPATH", folder, 1) == 0;
}

static int make_catalogue(void)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%%N.cat", folder);
	setenv("NLSPATH", path, 1);
	return shell(
		"command -v gencat > /dev/null && cd %s && printf '$set 1\\n1 alles gut\\n%d falsche Task\\n' > m.msg && "
		"gencat liblapi_r.cat m.msg",
		folder, LAPI_ERR_TGT);
}

static void expect(int want, int code, const char *text, int same)
{
	char got[LAPI_MAX_ERR_STRING + 1];

	memset(got, 0x7e, sizeof got);
	HOST_CODE(want, LAPI_Msg_string(code, got));
	HOST_CHECK(got[LAPI_MAX_ERR_STRING] == 0x7e);
	HOST_CHECK((strcmp(got, text) == 0) == same);
	if (host_case_failures)
		fprintf(stderr, "  code %d: \"%s\"\n", code, got);
}

/* The translation that comes with the library: every code there is, each with its own text. */
static void whole_translation(void)
{
	char line[512];
	int codes = 0, number, at;
	FILE *file = fopen("nls/de/liblapi_r.msg", "r");

	HOST_CHECK(file != NULL);
	HOST_CHECK(shell(
		"gencat %s/whole.cat nls/de/liblapi_r.msg && mv %s/whole.cat %s/liblapi_r.cat",
		folder, folder, folder));
	while (file && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%d %n", &number, &at) != 1)
			continue;
		expect(LAPI_SUCCESS, number == 1 ? LAPI_SUCCESS : number, line + at, 1);
		codes++;
	}
	HOST_CHECK(codes == LAPI_ERR_LASTCODE - LAPI_ERR_FIRSTCODE + 2);
	if (file)
		fclose(file);
	host_end_case("whole_translation", 0);
}

static void skip(const char *name, const char *why)
{
	printf("  skip %s: %s\n", name, why);
	skipped++;
}

/* The environment alone changes nothing: the program has not called setlocale. */
static void english_without_setlocale(void)
{
	setenv("LC_ALL", LOCALE, 1);
	expect(LAPI_SUCCESS, LAPI_ERR_TGT, "", 0);
	host_end_case("english_without_setlocale", 0);
}

static void no_catalogue(char *english)
{
	if (!make_locale() || !setlocale(LC_ALL, "")) {
		skip("no_catalogue", "the system has no locale to copy");
		skip("with_catalogue", "the system has no locale to copy");
		return;
	}
	expect(LAPI_ERR_CATALOG_FAIL, LAPI_ERR_TGT, english, 1);
	expect(LAPI_SUCCESS, ENOENT, strerror(ENOENT), 1);
	expect(LAPI_ERR_CODE_UNKNOWN, 399, english, 0);
	host_end_case("no_catalogue", 0);
	if (!make_catalogue()) {
		skip("with_catalogue", "the system has no gencat");
		skip("whole_translation", "the system has no gencat");
		return;
	}
	expect(LAPI_SUCCESS, LAPI_ERR_TGT, "falsche Task", 1);
	expect(LAPI_SUCCESS, LAPI_SUCCESS, "alles gut", 1);
	expect(LAPI_SUCCESS, LAPI_ERR_RMW_OP, "", 0);
	host_end_case("with_catalogue", 0);
	whole_translation();
	HOST_CHECK(setlocale(LC_ALL, "C") != NULL);
	expect(LAPI_SUCCESS, LAPI_ERR_TGT, english, 1);
	host_end_case("english_again", 0);
}

int main(void)
{
	char english[LAPI_MAX_ERR_STRING];

	if (!mkdtemp(folder)) {
		perror(folder);
		return 1;
	}
	HOST_OK(LAPI_Msg_string(LAPI_ERR_TGT, english));
	english_without_setlocale();
	no_catalogue(english);
	HOST_CHECK(shell("rm -r %s", folder));
	printf("catalogue: %d passed, %d failed, %d skipped\n", host_passed,
	       host_failed + (host_case_failures != 0), skipped);
	return host_failed || host_case_failures ? 1 : 0;
}
