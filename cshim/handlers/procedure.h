/*
 * procedure.h - Fortran procedures as handlers: header handlers that a message names other than by
 * their address, and DDM functions whose numbers come by reference. Needs no lock.
 */
#ifndef CSHIM_PROCEDURE_H
#define CSHIM_PROCEDURE_H

#include "context/golapi.h"

/* Marks a name: above every user address, below what the lane's message keeps for the padding. */
#define CSHIM_PROCEDURE_NAME ((uint64_t)1 << 55)

/*
 * A DDM function with this bit is Fortran: bytes, operand and operation by reference too. No
 * address of any architecture has it.
 */
#define CSHIM_FORTRAN_DDM ((uint64_t)1 << 63)

/*
 * The procedure of this task that has the name; 0 if its program is another one and has no code
 * there.
 */
cshim_addr cshim_procedure_at(cshim_addr name);

/* 1 if an argument that may be a procedure or an integer is a procedure of this process. */
int cshim_is_procedure(const void *argument);
/*
 * A procedure of this task by a name that is its name at every task that runs the same program,
 * wherever the loader has put it: the name is sent as header handler. If the address lies in no
 * file, the address itself.
 */
uint64_t cshim_procedure_name(const void *procedure);

#endif
