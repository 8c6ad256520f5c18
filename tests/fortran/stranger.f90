! stranger.f90 - task 0 sends to a procedure by its name. Run by two tasks with the same program the handler runs; where the other task's program is
! another one, which is this file compiled otherwise, the message is thrown away with a complaint, and its counters change. The first argument says which.
module stranger_data
  implicit none
  integer(4), save, volatile :: calls = 0
end module stranger_data

function stranger_handler(hndl, uhdr, uhdr_len, msg_len, comp_h, user_info)
  use stranger_data
  implicit none
  include 'lapif.h'
  integer(LAPI_ADDR_TYPE) :: stranger_handler
  integer(4) :: hndl, uhdr(*), uhdr_len
  integer(LAPI_LONG_TYPE) :: msg_len
  integer(LAPI_ADDR_TYPE) :: comp_h, user_info
  calls = calls + 1
  comp_h = 0
  user_info = 0
  stranger_handler = 0
end function stranger_handler

program stranger
  use testing
  use stranger_data
  implicit none
  include 'lapif.h'
  integer(4) :: h, me, n, rc
  integer(LAPI_ADDR_TYPE), external :: stranger_handler
  type(LAPI_CNTR_T), volatile, save :: done
  character(10) :: which
  call get_command_argument(1, which)
  call start(h, me, n, LAPI_ADDR_NULL)
  call LAPI_SETCNTR(h, done, 0, rc)
  if (me == 0) then
    call LAPI_AMSEND(h, 1, stranger_handler, LAPI_ADDR_NULL, 0, LAPI_ADDR_NULL, 0_LAPI_LONG_TYPE, LAPI_ADDR_NULL, LAPI_ADDR_NULL, &
                     done, rc)
    call good(rc, 'LAPI_AMSEND')
    call LAPI_WAITCNTR(h, done, 1, LAPI_ADDR_NULL, rc)
  end if
  call LAPI_GFENCE(h, rc)
  if (me == 1) call expect(calls == merge(1, 0, which == 'same'), 'the handler of the same program only')
  call end_case('a procedure of '//which)
  call LAPI_GFENCE(h, rc)
  call LAPI_TERM(h, rc)
  call finish('stranger')
end program stranger
