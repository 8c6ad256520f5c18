/*
 * catalogue.c - LAPI_Msg_string in locales that are not English: with and without a message
 * catalogue, and in every language of nls/messages.tsv, of which one message each is printed. The
 * locales are copies of C.utf8 under other names, the catalogues are made by gencat; without these
 * two tools of the system, the cases are skipped.
 */
#define _GNU_SOURCE
#include "host.h"

#include <errno.h>
#include <iconv.h>
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

#define CODES (LAPI_ERR_LASTCODE - LAPI_ERR_FIRSTCODE + 2)
#define COLUMNS 24

static char *table[1 + CODES][COLUMNS]; /* of nls/messages.tsv; row 0 has the headings */

static void read_table(void)
{
	static char text[1 << 18];
	FILE *file = fopen("nls/messages.tsv", "r");
	char *rest = text, *line;
	int row = 0, column;

	HOST_CHECK(file && fread(text, 1, sizeof text - 1, file) > 0);
	while ((line = strsep(&rest, "\n")) && *line && row <= CODES) {
		for (column = 0; line && column < COLUMNS; column++)
			table[row][column] = strsep(&line, "\t");
		row++;
	}
	HOST_CHECK(row == 1 + CODES);
	if (file)
		fclose(file);
}

static int column_of(const char *language)
{
	int column;

	for (column = 0; column < COLUMNS && table[0][column]; column++)
		if (strcmp(table[0][column], language) == 0)
			return column;
	return -1;
}

/* Every message in the locale that is set, in its encoding. */
static void expect_language(const char *encoding, int column)
{
	const iconv_t converter = iconv_open(encoding, "UTF-8");
	int row;

	HOST_CHECK(column >= 0);
	for (row = 1; row <= CODES && column >= 0; row++) {
		char want[2 * LAPI_MAX_ERR_STRING] = "", *from = table[row][column], *to = want;
		size_t left = strlen(from), space = sizeof want - 1;

		HOST_CHECK(iconv(converter, &from, &left, &to, &space) == 0);
		expect(LAPI_SUCCESS, atoi(table[row][0]), want, 1);
	}
	iconv_close(converter);
}

/* Sets a locale whose catalogue is looked for under its own name in a file of this form. A copy of
 * C.utf8 may not have a name of another encoding: its catalogue is named by NLSPATH itself. */
static void set_locale(const char *name, const char *encoding, const char *form)
{
	char path[256];

	snprintf(path, sizeof path, "%s/nls/%%L/LC_MESSAGES/%s", folder, form);
	HOST_CHECK(shell("ln -sfn " LOCALE " %s/%s", folder, name));
	if (!setlocale(LC_ALL, name)) {
		HOST_CHECK(strcmp(encoding, "UTF-8") != 0 && setlocale(LC_ALL, LOCALE));
		snprintf(path, sizeof path, "%s/nls/%s/LC_MESSAGES/liblapi_r.cat", folder, name);
	}
	setenv("NLSPATH", path, 1);
}

/* The languages that come with the library, under each name of nls/locales. */
static void each_language(const char *form)
{
	char line[256], language[16], encoding[16], text[LAPI_MAX_ERR_STRING], *rest, *name;
	int at, locales = 0;
	FILE *file = fopen("nls/locales", "r");

	while (file && fgets(line, sizeof line, file)) {
		if (*line == '#' || sscanf(line, "%15s %15s %n", language, encoding, &at) != 2)
			continue;
		for (rest = line + at; (name = strtok_r(rest, " \n", &rest)); locales++) {
			set_locale(name, encoding, form);
			expect_language(encoding, column_of(language));
		}
		if (strcmp(encoding, "UTF-8") == 0) {
			HOST_OK(LAPI_Msg_string(LAPI_ERR_TGT, text));
			printf("  %s: %s\n", language, text);
		}
	}
	HOST_CHECK(locales > 0);
	if (file)
		fclose(file);
}

static void whole_translations(void)
{
	read_table();
	HOST_CHECK(shell("scripts/catalogues.sh %s/nls", folder));
	each_language("%N.cat");
	each_language("%N"); /* as in the C library's own search */
	host_end_case("whole_translations", 0);
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
		skip("whole_translations", "the system has no gencat");
		return;
	}
	expect(LAPI_SUCCESS, LAPI_ERR_TGT, "falsche Task", 1);
	expect(LAPI_SUCCESS, LAPI_SUCCESS, "alles gut", 1);
	expect(LAPI_SUCCESS, LAPI_ERR_RMW_OP, "", 0);
	host_end_case("with_catalogue", 0);
	whole_translations();
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
