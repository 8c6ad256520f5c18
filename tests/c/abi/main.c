/*
 * main.c - prints the binary interface of lapi.h: every number type, structure, handler type,
 * constant and code.
 *
 * The output is compared with a golden file: a difference means that programs compiled before would
 * not fit any more. tests/c/abi/abi_test.go checks that no name of the headers is missing here.
 */
#include "abi.h"

int main(void)
{
	print_numbers();
	print_pointers();
	print_functions();
	print_handler_types();
	print_init_types();
	print_vector_types();
	print_active_message_xfers();
	print_other_xfers();
	print_dgsp_utils();
	print_other_utils();
	print_constants();
	print_enumerators();
	print_codes();
	print_old_codes();
	return fflush(stdout) || ferror(stdout);
}
