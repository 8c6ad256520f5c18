! plugin.f90 - Fortran in a shared library that a C program loads for itself alone (plugin_host.c): LAPI_ADDR_NULL is this library's own
! variable, and its procedures lie in another file than the program.
module plugin_data
  implicit none
  integer(4), save, volatile :: landed(10) = 0
end module plugin_data

function plugin_handler(hndl, uhdr, uhdr_len, msg_len, comp_h, user_info)
  use plugin_data
  implicit none
  include 'lapif.h'
  integer(LAPI_ADDR_TYPE) :: plugin_handler
  integer(4) :: hndl, uhdr(*), uhdr_len, rc
  integer(LAPI_LONG_TYPE) :: msg_len
  integer(LAPI_ADDR_TYPE) :: comp_h, user_info
  comp_h = LAPI_ADDR_NULL
  user_info = merge(hndl + msg_len, int(uhdr(1), LAPI_ADDR_TYPE), uhdr_len == 0)
  call LAPI_ADDRESS(landed, plugin_handler, rc)
end function plugin_handler

! A whole job; the number of things that are wrong.
integer(c_int) function plugin_run() bind(c)
  use, intrinsic :: iso_c_binding
  use plugin_data
  implicit none
  include 'lapif.h'
  integer(4) :: h, me, n, next, rc, i
  integer(4) :: info(25)
  type(LAPI_CNTR_T), save, volatile :: arrived
  integer(LAPI_ADDR_TYPE) :: address, counters(128)
  integer(LAPI_ADDR_TYPE), external :: plugin_handler
  plugin_run = 0
  info = 0
  call LAPI_INIT(h, LAPI_ADDR_NULL, rc)
  if (rc /= LAPI_ERR_INFO_NULL) plugin_run = plugin_run + 1
  call LAPI_INIT(h, info, rc)
  if (rc /= LAPI_SUCCESS) plugin_run = plugin_run + 10
  call LAPI_QENV(h, TASK_ID, me, rc)
  call LAPI_QENV(h, NUM_TASKS, n, rc)
  next = mod(me + 1, n)
  call LAPI_SETCNTR(h, arrived, 0, rc)
  call LAPI_ADDRESS(arrived, address, rc)
  call LAPI_ADDRESS_INIT(h, address, counters, rc)
  call LAPI_AMSEND(h, next, plugin_handler, LAPI_ADDR_NULL, 0, [(me + i, i=1, 10)], 40_LAPI_LONG_TYPE, counters(next + 1), &
                   LAPI_ADDR_NULL, LAPI_ADDR_NULL, rc)
  if (rc /= LAPI_SUCCESS) plugin_run = plugin_run + 100
  call LAPI_WAITCNTR(h, arrived, 1, LAPI_ADDR_NULL, rc)
  if (any(landed /= [(mod(me + n - 1, n) + i, i=1, 10)])) plugin_run = plugin_run + 1000
  call LAPI_GFENCE(h, rc)
  call LAPI_TERM(h, rc)
  if (rc /= LAPI_SUCCESS) plugin_run = plugin_run + 10000
end function plugin_run
