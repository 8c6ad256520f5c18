/*
 * catalogue.c - the words of LAPI_Msg_string: in English, and in the program's language. Nothing of
 * core is needed.
 *
 * English is built in and serves the locales C, POSIX and en_*. Any other locale (LC_MESSAGES of
 * setlocale, not of the environment: a program that never calls setlocale gets English) needs a
 * message catalogue of X/Open kind named liblapi_r, in a file of that name with or without .cat: the
 * C library's own search adds no .cat, NLSPATH mostly does. docs/return-codes.md says what is in it.
 */
#include <locale.h>
#include <nl_types.h>
#include <stdio.h>
#include <string.h>

#include "lapi/internal.h"
#include "lapi/texts_gen.h"

#define CATALOGUE "liblapi_r"
#define CATALOGUE_SET 1
#define SUCCESS_NUMBER 1 /* catalogues have no number 0; 1 is no LAPI code */

static int is_english(const char *locale)
{
	size_t n;

	if (!locale)
		return 1;
	n = strcspn(locale, "_.@");
	return (n == 1 && locale[0] == 'C') || (n == 2 && memcmp(locale, "en", 2) == 0) ||
	       strcmp(locale, "POSIX") == 0;
}

static int is_lapi_code(int code)
{
	return code == LAPI_SUCCESS || (code >= LAPI_ERR_FIRSTCODE && code <= LAPI_ERR_LASTCODE);
}

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static const char *english(int code)
{
	const int index = code - LAPI_ERR_FIRSTCODE;

	if (code == LAPI_SUCCESS)
		return success_text;
	if (index >= 0 && index < COUNT(code_texts))
		return code_texts[index];
	return code > 0 && code < COUNT(errno_texts) ? errno_texts[code] : NULL;
}

static nl_catd open_catalogue(void)
{
	const nl_catd found = catopen(CATALOGUE, NL_CAT_LOCALE);

	return found == (nl_catd)-1 ? catopen(CATALOGUE ".cat", NL_CAT_LOCALE) : found;
}

static int translate(int code, char *buf)
{
	const char *text;
	nl_catd catalogue;

	if (is_english(setlocale(LC_MESSAGES, NULL)))
		return LAPI_SUCCESS;
	if (!is_lapi_code(code)) {
		snprintf(buf, LAPI_MAX_ERR_STRING, "%s", strerror(code));
		return LAPI_SUCCESS;
	}
	catalogue = open_catalogue();
	if (catalogue == (nl_catd)-1)
		return LAPI_ERR_CATALOG_FAIL;
	text = catgets(catalogue, CATALOGUE_SET, code == LAPI_SUCCESS ? SUCCESS_NUMBER : code,
	               NULL);
	if (text)
		snprintf(buf, LAPI_MAX_ERR_STRING, "%s", text);
	catclose(catalogue);
	return LAPI_SUCCESS;
}

int cshim_text_of(int code, char *buf)
{
	const char *text = english(code);

	snprintf(buf, LAPI_MAX_ERR_STRING, "%s", text ? text : "");
	return text ? translate(code, buf) : LAPI_ERR_CODE_UNKNOWN;
}
