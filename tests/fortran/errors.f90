! errors.f90 - an error handler in Fortran: a put whose target address is bad. Two tasks or more.
module failures
  implicit none
  integer(4), save, volatile :: calls = 0, seen(4) = -1
end module failures

subroutine error_handler(hndl, error_code, err_type, task_id, src)
  use failures
  implicit none
  integer(4) :: hndl, error_code, err_type, task_id, src
  seen = [error_code, err_type, task_id, src]
  if (hndl >= 0) calls = calls + 1
end subroutine error_handler

program errors
  use testing
  use failures
  implicit none
  include 'lapif.h'
  integer(4) :: h, me, n, next, before, rc
  integer(LAPI_ADDR_TYPE) :: handler
  external :: error_handler
  integer(4) :: word

  call LAPI_ADDRESS(error_handler, handler, rc)
  call start(h, me, n, handler)
  next = mod(me + 1, n)
  before = mod(me + n - 1, n)
  word = 1
  call LAPI_GFENCE(h, rc)
  call LAPI_PUT(h, next, 4_LAPI_LONG_TYPE, 8_LAPI_ADDR_TYPE, word, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
  call good(rc, 'LAPI_PUT to a bad address')
  do while (calls < 2)
    call LAPI_PROBE(h, rc)
  end do
  ! The handlers of both tasks are called: of the task with the memory, and of the task that named the address.
  call expect(calls == 2 .and. seen(1) == LAPI_ERR_TGT_ADDR_NULL .and. seen(2) == PUT_ERR .and. seen(3) == me, &
              'what the handler was told')
  call expect(seen(4) == next .or. seen(4) == before, 'the task concerned')
  call end_case('error handler')
  call LAPI_GFENCE(h, rc)
  call good(rc, 'LAPI_GFENCE afterwards')
  call LAPI_TERM(h, rc)
  call end_case('going on')
  call finish('errors')
end program errors
