#!/bin/sh
# Makes the probe of the DAT headers: a program that prints the compiler's fact for each name in a
# table, in the table's own form, so that the output can be compared with the table.
#
# usage: probe.sh c|c++ TABLE > FILE
#
# Of the kinds in the table (facts.txt says what they are) type, field, value and string are for the
# C program; is, member and call are for the C++ program, which knows the names of types.
set -eu
cat << 'END'
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>
END
if [ "$1" = c++ ]; then
	cat << 'END'
#include <cstdlib>
#include <cxxabi.h>
#include <typeinfo>
static void show(const char *kind, const char *name, const std::type_info &type)
{
	char *text = abi::__cxa_demangle(type.name(), 0, 0, 0);
	printf("%s %s %s\n", kind, name, text ? text : type.name());
	free(text);
}
#define MEMBER(type, member) (*(type *)0).member
int main(void)
{
END
	awk '
	$1 == "is" { printf "\tshow(\"is\", \"%s\", typeid(%s));\n", $2, $2 }
	$1 == "call" { printf "\tshow(\"call\", \"%s\", typeid(%s));\n", $2, $2 }
	$1 == "member" {
		dot = index($2, ".")
		printf "\tshow(\"member\", \"%s\", typeid(MEMBER(%s, %s)));\n", $2, substr($2, 1, dot - 1),
		       substr($2, dot + 1)
	}' "$2"
else
	echo 'int main(void) {'
	awk '
	$1 == "type" { printf "\tprintf(\"type %s %%zu\\n\", sizeof(%s));\n", $2, $2 }
	$1 == "field" {
		dot = index($2, "."); type = substr($2, 1, dot - 1); member = substr($2, dot + 1)
		printf "\tprintf(\"field %s %%zu %%zu\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));\n",
		       $2, type, member, type, member
	}
	$1 == "value" { printf "\tprintf(\"value %s %%#llx\\n\", (unsigned long long)(%s));\n", $2, $2 }
	$1 == "string" { printf "\tprintf(\"string %s %%s\\n\", %s);\n", $2, $2 }' "$2"
fi
echo '	return 0;'
echo '}'
