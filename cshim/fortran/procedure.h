/*
 * procedure.h - header handlers that a message names other than by their address: Fortran procedures (fortran_procedure.c). Private to the
 * library.
 */
#ifndef CSHIM_PROCEDURE_H
#define CSHIM_PROCEDURE_H

#include "golapi.h"

/* Marks a name: above every user address, below what the lane's message keeps for the padding. */
#define CSHIM_PROCEDURE_NAME ((uint64_t)1 << 55)

/* The procedure of this task that has the name; 0 if its program is another one and has no code there. */
cshim_addr cshim_procedure_at(cshim_addr name);

#endif
