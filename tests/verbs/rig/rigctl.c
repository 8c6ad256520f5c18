/*
 * rigctl.c - has parts of the rig that RIG names fail: faults.c has the words.
 *
 * usage: RIG=FOLDER rigctl WORD...
 */
#include <stdio.h>
#include <string.h>

int rig_command(int n, char *const *words);

int main(int argc, char **argv)
{
	int err = rig_command(argc - 1, argv + 1);

	if (err)
		fprintf(stderr, "rigctl: %s\n", strerror(err));
	return err != 0;
}
