/*
 * conf.c - reads dat.conf: a line for each name, with eight fields apart by blanks:
 *
 *     name  api  threadsafe|nonthreadsafe  default|nondefault  library  version  params  platform
 *
 * A field may be in double quotes, where a backslash takes the next character as it is. # begins a
 * comment. Another line is skipped, with a fault that names file and line. Entries of the
 * kernel's API (k...) and those that are no default are skipped without one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "registry/names.h"

enum { FIELDS = 8, LONGEST = 1 << 20 };
/* Of a field that is quoted in a fault. */
#define SHORT "%.60s"

/*
 * Takes a line apart, in place; text[n] may be written. The number of fields, of which the first
 * FIELDS are stored; -1: a quote is not closed.
 */
static int split(char *text, size_t n, char **fields)
{
	int inside = 0, quoted = 0, number = 0;
	char *to = text;
	size_t i;

	for (i = 0; i < n; i++) {
		char c = text[i];
		int blank = !quoted && (c == ' ' || c == '\t');

		if (c == '#' && !inside)
			break;
		if (blank && inside)
			*to++ = 0;
		if (!blank && !inside && number++ < FIELDS)
			fields[number - 1] = to;
		inside = !blank;
		if (quoted && c == '\\' && i + 1 < n)
			*to++ = text[++i];
		else if (c == '"')
			quoted = !quoted;
		else if (!blank)
			*to++ = c;
	}
	if (inside)
		*to = 0;
	return quoted ? -1 : number;
}

/* 1, and the number; 0: it is none of 32 bits. */
static int number_of(const char *text, const char *end, DAT_UINT32 *value)
{
	uint64_t n = 0;

	if (text == end)
		return 0;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return 0;
		n = n * 10 + (uint64_t)(*text - '0');
		if (n > UINT32_MAX)
			return 0;
	}
	*value = (DAT_UINT32)n;
	return 1;
}

/* u2.0: 1, and the version. */
static int version_of(const char *text, DAT_PROVIDER_INFO *info)
{
	const char *dot = strchr(text, '.');

	return (text[0] == 'u' || text[0] == 'k') && dot &&
	       number_of(text + 1, dot, &info->dapl_version_major) &&
	       number_of(dot + 1, dot + strlen(dot), &info->dapl_version_minor);
}

/* 1: yes; 0: no; -1: neither. */
static int either(const char *field, const char *yes, const char *no)
{
	return strcmp(field, yes) == 0 ? 1 : strcmp(field, no) == 0 ? 0 : -1;
}

/* Whether a library is this one, or its object for other registries. */
static int is_this(const char *path)
{
	static const char *const names[] = {"liblapi", "libdat2", "libdapllapi"};
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return 1;
	return 0;
}

/* Where faults are. */
typedef struct place {
	const char *file;
	int line;
	dat_faults *faults;
} place;

static void skipped(const place *p, const char *what, const char *field)
{
	dat_fault(p->faults, "%s:%d: %s" SHORT ": the line is skipped", p->file, p->line, what,
	          field);
}

static void entry(dat_ia_names *list, char **fields, const place *p)
{
	DAT_PROVIDER_INFO info;
	int safe = either(fields[2], "threadsafe", "nonthreadsafe"),
	    usual = either(fields[3], "default", "nondefault");
	size_t n = strlen(fields[0]);
	dat_ia_name *e;

	if (n == 0 || n >= sizeof info.ia_name) {
		skipped(p, "a name has 1 to 255 bytes, not as this one: ", fields[0]);
	} else if (!version_of(fields[1], &info)) {
		skipped(p, "no version such as u2.0: ", fields[1]);
	} else if (safe < 0) {
		skipped(p, "neither threadsafe nor nonthreadsafe: ", fields[2]);
	} else if (usual < 0) {
		skipped(p, "neither default nor nondefault: ", fields[3]);
	} else if (usual && fields[1][0] == 'u') {
		e = dat_ia_names_append(list, fields[0], is_this(fields[4]) ? NULL : fields[4],
		                    fields[6]);
		if (!e) {
			skipped(p, "there are too many names", "");
			return;
		}
		e->info.dapl_version_major = info.dapl_version_major;
		e->info.dapl_version_minor = info.dapl_version_minor;
		e->info.is_thread_safe = safe ? DAT_TRUE : DAT_FALSE;
	}
}

static void line_of(dat_ia_names *list, char *text, size_t n, const place *p)
{
	char *fields[FIELDS], count[64];
	int number;

	while (n > 0 && text[n - 1] == '\r')
		n--;
	if (memchr(text, 0, n)) {
		skipped(p, "it has a byte 0", "");
		return;
	}
	number = split(text, n, fields);
	if (number < 0) {
		skipped(p, "a quote is not closed", "");
	} else if (number == FIELDS) {
		entry(list, fields, p);
	} else if (number > 0) {
		snprintf(count, sizeof count, "%d fields, not %d", number, FIELDS);
		skipped(p, count, "");
	}
}

void dat_conf_parse(dat_ia_names *list, const char *name, char *text, size_t n, dat_faults *faults)
{
	place p = {name, 0, faults};
	char *end = text + n, *next;

	for (; text < end; text = next + 1) {
		next = memchr(text, '\n', (size_t)(end - text));
		if (!next)
			next = end;
		p.line++;
		line_of(list, text, (size_t)(next - text), &p);
	}
}

/* ---- LAPI_DAT_NAMES ---- */

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && strchr(" \t\r\n", *at))
		at++;
	return at;
}

/* name=device: port 0 of it. 0: it is no such pair. */
static int pair(dat_ia_names *list, const char *at, const char *end)
{
	const char *equals = memchr(at, '=', (size_t)(end - at));
	char name[sizeof(((DAT_PROVIDER_INFO *)0)->ia_name)], params[512];
	size_t n, m;

	if (!equals)
		return 0;
	n = (size_t)(equals - at);
	m = (size_t)(end - equals - 1);
	if (n == 0 || n >= sizeof name || m == 0 || m > sizeof params - sizeof " 0" ||
	    memchr(equals, ' ', m + 1) || memchr(equals, '\t', m + 1))
		return 0;
	memcpy(name, at, n);
	name[n] = 0;
	memcpy(params, equals + 1, m);
	memcpy(params + m, " 0", sizeof " 0");
	return dat_ia_names_append(list, name, NULL, params) != NULL;
}

/* Pairs apart by commas give names to the interfaces, addresses or RDMA adapters that devices are.
 */
void dat_conf_pairs(dat_ia_names *list, const char *text, dat_faults *faults)
{
	const char *end, *at, *next;

	for (;; text = next + 1) {
		next = strchrnul(text, ',');
		at = skip_blanks(text, next);
		for (end = next; end > at && strchr(" \t\r\n", end[-1]); end--)
			;
		if (end > at && !pair(list, at, end))
			dat_fault(faults,
			          "LAPI_DAT_NAMES: \"%.*s\" is not name=device: it is skipped",
			          (int)(end - at < 60 ? end - at : 60), at);
		if (!*next)
			return;
	}
}

/* ---- Files ---- */

/* The bytes read, LONGEST at most, into text; -1: errno. */
static ssize_t read_all(const char *file, char *text)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t more = 1, n = 0;

	if (fd < 0)
		return -1;
	while (more != 0 && n < LONGEST) {
		more = read(fd, text + n, (size_t)(LONGEST - n));
		if (more > 0)
			n += more;
		else if (more < 0 && errno != EINTR)
			break;
	}
	if (more < 0) {
		more = errno;
		close(fd);
		errno = (int)more;
		return -1;
	}
	close(fd);
	return n;
}

void dat_conf_names(dat_ia_names *list, const char *file, dat_faults *faults)
{
	const char *pairs = getenv("LAPI_DAT_NAMES"), *other = getenv("DAT_OVERRIDE");
	char *text = malloc(LONGEST + 1);
	ssize_t n;

	if (pairs)
		dat_conf_pairs(list, pairs, faults);
	if (!text)
		return;
	n = read_all(other ? other : file, text);
	if (n < 0 && other)
		dat_fault(faults,
		          "DAT_OVERRIDE: %.200s: %s: no interface adapters but the built-in ones",
		          other, strerror(errno));
	if (n == LONGEST)
		dat_fault(faults, "%.200s: what follows the first MiB is skipped",
		          other ? other : file);
	if (n > 0)
		dat_conf_parse(list, other ? other : file, text, (size_t)n, faults);
	free(text);
}
