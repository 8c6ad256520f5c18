/*
 * procedure.c - procedures as arguments of Fortran calls, and their names.
 *
 * An argument is a procedure if it lies in code of a loaded file. The linkers of some machines put
 *constants there as well: a word that holds an index of LAPI_Addr_set is a constant, no function
 *begins so.
 *
 * A name is what the tasks of one program have in common, where the loader puts its files at other
 *addresses at each: which file, and the offset in it. It is a number that no address has:
 *
 *	bit 55: it is a name | 32 to 54: file | 0 to 31: offset
 *
 * A file is a hash: of the program its build id, so that another program is not taken for it, of
 *others their names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "handlers/procedure.h"

enum { FILE_SHIFT = 32, FILE_BITS = 23 };

_Static_assert(CSHIM_PROCEDURE_NAME == (uint64_t)1 << (FILE_SHIFT + FILE_BITS),
               "the mark is above the file");

/*
 * A search through the loaded files: for the file that has code at an address or, if that is 0, for
 * a file with code at an offset.
 */
typedef struct search {
	uintptr_t address;
	uint64_t file, offset; /* in, if address is 0; else out */
	const void *word;      /* out: where a whole word can be read at the address, else NULL */
	int found, first;
} search;

/* FNV-1a, as wide as the field. */
static uint64_t hash_of(const unsigned char *bytes, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; n > 0; n--)
		hash = (hash ^ *bytes++) * 0x100000001b3u;
	return (hash ^ hash >> FILE_BITS ^ hash >> 2 * FILE_BITS) &
	       (((uint64_t)1 << FILE_BITS) - 1);
}

/* The name behind the last slash. */
static uint64_t hash_of_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	path = slash ? slash + 1 : path;
	return hash_of((const unsigned char *)path, strlen(path));
}

/*
 * The part of a file that has the address, executable and not for writing; NULL if there is none.
 */
static const ElfW(Phdr) * code_at(const struct dl_phdr_info *info, uintptr_t address)
{
	uint32_t i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && (part->p_flags & (PF_X | PF_W)) == PF_X &&
		    address - (info->dlpi_addr + part->p_vaddr) < part->p_memsz)
			return part;
	}
	return NULL;
}

/* The program itself, which is asked most, never changes. Filled before main. */
static struct {
	struct dl_phdr_info info;
	uintptr_t start, end;
	uint64_t file;
} program;

/* The build id that the linker has left in a part with notes; 0 if it is not there. */
static uint64_t hash_of_build(const struct dl_phdr_info *info, const ElfW(Phdr) * part)
{
	const unsigned char *at = (const unsigned char *)(info->dlpi_addr + part->p_vaddr),
			    *end = at + part->p_memsz;

	while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
		size_t name = (note->n_namesz + 3u) & ~3u, length = (note->n_descsz + 3u) & ~3u;

		at += sizeof *note;
		if ((size_t)(end - at) < name + length)
			return 0;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(at, "GNU", 4) == 0)
			return hash_of(at + name, note->n_descsz);
		at += name + length;
	}
	return 0;
}

static int remember(struct dl_phdr_info *info, size_t size, void *argument)
{
	uint32_t i;

	(void)size, (void)argument;
	program.info = *info;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_NOTE && !program.file)
			program.file = hash_of_build(info, part);
		if (part->p_type != PT_LOAD)
			continue;
		if (!program.end)
			program.start = info->dlpi_addr + part->p_vaddr;
		program.end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
	}
	return 1;
}

static void found_at(search *s, const struct dl_phdr_info *info, const ElfW(Phdr) * part,
                     uint64_t file)
{
	s->found = 1;
	s->file = file;
	s->offset = s->address - info->dlpi_addr;
	if ((part->p_flags & PF_R) &&
	    s->offset - part->p_vaddr + sizeof(uintptr_t) <= part->p_memsz)
		s->word = (const void *)s->address;
}

/* For each file; the program is the first of all. 1 ends the search. */
static int look(struct dl_phdr_info *info, size_t size, void *argument)
{
	search *s = argument;
	const ElfW(Phdr) * part;
	int is_program = s->first;

	(void)size;
	s->first = 0;
	if (!s->address) {
		if (s->file != (is_program ? program.file : hash_of_name(info->dlpi_name)))
			return 0;
		s->address = info->dlpi_addr + (uintptr_t)s->offset;
		s->found = code_at(info, s->address) != NULL;
		return 1;
	}
	part = code_at(info, s->address);
	if (part)
		found_at(s, info, part, is_program ? program.file : hash_of_name(info->dlpi_name));
	return part != NULL;
}

static int find(search *s)
{
	s->first = 1;
	dl_iterate_phdr(look, s);
	return s->found;
}

/*
 * Whether an address is in no loaded file at all, as stacks and heaps are; newer C libraries know
 * it without a lock.
 */
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 35)
#define HAS_FINDER
#endif
#endif
#ifdef HAS_FINDER
static __typeof__(_dl_find_object) *find_object;

static int in_no_file(const void *address)
{
	struct dl_find_object object;

	return find_object && find_object((void *)(uintptr_t)address, &object) != 0;
}

/* Looked up, not linked: the library shall run with older ones. */
static void find_finder(void)
{
	find_object =
		(__typeof__(_dl_find_object) *)(uintptr_t)dlsym(RTLD_DEFAULT, "_dl_find_object");
}
#else
static int in_no_file(const void *address)
{
	(void)address;
	return 0;
}

static void find_finder(void)
{
}
#endif

__attribute__((constructor)) static void remember_program(void)
{
	dl_iterate_phdr(remember, NULL);
	find_finder();
}

/*
 * find by address: first the program and addresses in no file; else all files one by one.
 */
static int find_address(search *s)
{
	const ElfW(Phdr) * part;

	if (s->address - program.start < program.end - program.start) {
		part = code_at(&program.info, s->address);
		if (part)
			found_at(s, &program.info, part, program.file);
		return s->found;
	}
	return !in_no_file((const void *)s->address) && find(s);
}

int cshim_is_procedure(const void *argument)
{
	search s = {.address = (uintptr_t)argument};
	uintptr_t word;

	if (!argument || !find_address(&s))
		return 0;
	if (!s.word)
		return 1;
	memcpy(&word, s.word, sizeof word);
	return word >= CSHIM_LANE_HANDLERS;
}

uint64_t cshim_procedure_name(const void *procedure)
{
	search s = {.address = (uintptr_t)procedure};

	if (!find_address(&s) || s.offset >> FILE_SHIFT)
		return s.address;
	return CSHIM_PROCEDURE_NAME | s.file << FILE_SHIFT | s.offset;
}

cshim_addr cshim_procedure_at(cshim_addr name)
{
	search s = {.file = (name & (CSHIM_PROCEDURE_NAME - 1)) >> FILE_SHIFT,
	            .offset = name & (((uint64_t)1 << FILE_SHIFT) - 1)};

	if (s.file == program.file) {
		s.address = program.info.dlpi_addr + (uintptr_t)s.offset;
		return code_at(&program.info, s.address) ? s.address : 0;
	}
	return find(&s) ? s.address : 0;
}
