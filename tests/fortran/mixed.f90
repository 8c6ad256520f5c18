! mixed.f90 - the Fortran half of a program of both languages (mixed_c.c). Any number of tasks.
module half
  implicit none
  integer(4), save, volatile :: landed(10) = 0, last_from = -1
end module half

function fortran_handler(hndl, uhdr, uhdr_len, msg_len, comp_h, user_info)
  use half
  implicit none
  include 'lapif.h'
  integer(LAPI_ADDR_TYPE) :: fortran_handler
  integer(4) :: hndl, uhdr, uhdr_len, rc
  integer(LAPI_LONG_TYPE) :: msg_len
  integer(LAPI_ADDR_TYPE) :: comp_h, user_info
  last_from = uhdr
  comp_h = LAPI_ADDR_NULL
  user_info = hndl + uhdr_len + msg_len
  call LAPI_ADDRESS(landed, fortran_handler, rc)
end function fortran_handler

program mixed
  use testing
  use half
  implicit none
  include 'lapif.h'
  integer(4) :: h, me, n, next, before, rc, i
  integer(4), external :: c_has, c_send
  integer(LAPI_ADDR_TYPE), external :: c_handler, fortran_handler
  integer(LAPI_ADDR_TYPE), allocatable :: handlers(:), counters(:)
  integer(LAPI_ADDR_TYPE) :: address
  type(LAPI_CNTR_T), save, volatile :: arrived
  integer(4) :: data(10)

  call start(h, me, n, LAPI_ADDR_NULL)
  next = mod(me + 1, n)
  before = mod(me + n - 1, n)
  allocate (handlers(n), counters(n))
  data = [(100 * me + i, i=1, 10)]
  call LAPI_SETCNTR(h, arrived, 0, rc)
  call LAPI_ADDRESS(arrived, address, rc)
  call LAPI_ADDRESS_INIT(h, address, counters, rc)
  call LAPI_ADDRESS(fortran_handler, address, rc)
  call LAPI_ADDRESS_INIT(h, address, handlers, rc)
  rc = c_send(h, next, handlers(next + 1), me, data, counters(next + 1))
  call good(rc, 'LAPI_Amsend of C')
  call LAPI_WAITCNTR(h, arrived, 1, LAPI_ADDR_NULL, rc)
  call expect(all(landed == [(100 * before + i, i=1, 10)]) .and. last_from == before, 'the Fortran handler')
  call end_case('C sends to Fortran')
  call LAPI_AMSEND(h, next, c_handler, me, 4, data, 40_LAPI_LONG_TYPE, counters(next + 1), LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
  call good(rc, 'LAPI_AMSEND')
  call LAPI_WAITCNTR(h, arrived, 1, LAPI_ADDR_NULL, rc)
  call expect(c_has(100 * before + 1, before) == 1, 'the C handler')
  call end_case('Fortran sends to C')
  call LAPI_GFENCE(h, rc)
  call LAPI_TERM(h, rc)
  call finish('mixed')
end program mixed
